/** Node, with a new process for every measurement. */
import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { inProject } from "../../../scripts/lib/paths.mjs";
import type { Outcome } from "../workloads.ts";
import type { BenchFiles, Place, Steps } from "./place.ts";

const run = promisify(execFile);

export function nodePlace({ suite, seenguard }: BenchFiles): Place {
  return {
    name: "node",
    title: `Node ${process.versions.node}`,
    suite: async (effort) =>
      (await evaluate(suite, "(suite, effort) => suite.runSuite(effort, (line) => console.error(`    ${line}`))", [
        effort,
      ])) as Outcome[],
    coldStarts: async (messages, ids) => {
      const cold = inProject("lab", "benches", "cold.mjs");
      const entry = pathToFileURL(seenguard).href;
      const guard = await evaluate(cold, "(cold, args) => cold.startGuard(...args)", [
        [entry, messages.seenguard, ids, "none"],
      ]);
      const set = await evaluate(cold, "(cold, args) => cold.startSet(...args)", [[messages.Set, ids]]);
      return { seenguard: guard as Steps, Set: set as Steps };
    },
    openings: () => Promise.resolve([]),
    heapOf: async (ids) => {
      const used = "async () => (globalThis.gc(), process.memoryUsage().heapUsed)";
      const call = `(heap, ids) => heap.heapOf(ids, ${used})`;
      return (await evaluate(inProject("lab", "benches", "heap.mjs"), call, [ids], ["--expose-gc"])) as number;
    },
    close: () => Promise.resolve(),
  };
}

/** Calls a function of a module in a new process, with arguments and a result in JSON. `flags` are Node's. */
async function evaluate(
  module: string,
  call: string,
  args: readonly unknown[],
  flags: readonly string[] = [],
): Promise<unknown> {
  const url = JSON.stringify(pathToFileURL(module).href);
  const script = `
    const answer = await (${call})(await import(${url}), ...${JSON.stringify(args)});
    process.stdout.write(JSON.stringify(answer));`;
  // On standard input, since command-line arguments are limited in length.
  const running = run(process.execPath, [...flags, "--input-type=module", "-"], { maxBuffer: 1 << 26 });
  running.child.stdin?.end(script);
  running.child.stderr?.pipe(process.stderr);
  return JSON.parse((await running).stdout);
}
