/** The installed package in Node, by each kind of module. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { describe, expect, inject, test } from "vitest";
import type { Outcome } from "./apps/scenario.js";
import {
  expectGuarded,
  expectRefused,
  expectServed,
  readScenario,
  type ScenarioFile,
  type ServerOutcome,
} from "./scenarios.js";

/** How an app imports the package, by each kind of module; the rest is the same. */
const ways = {
  module: (names: string, entry: string) => `import ${names.replace("*", "* as")} from "${entry}";`,
  commonjs: (names: string, entry: string) => `const ${names.replace("* ", "")} = require("${entry}");`,
};
type Way = keyof typeof ways;
const bothWays: readonly Way[] = ["module", "commonjs"];

/** The outcome of an app in Node; `run` does what it does, and has `scenario` and what an app is sent. */
async function outcomeOf<T>(way: Way, imports: string, run: string, file = "scenario.json", ...flags: string[]) {
  const script = `${imports}
    (async () => {
      const { readFileSync } = await import("node:fs");
      const require = (await import("node:module")).createRequire(process.cwd() + "/");
      const { runScenario } = await import("./scenario.js");
      const { serve } = await import("./server.js");
      const scenario = JSON.parse(readFileSync("${file}", "utf8"));
      console.log(JSON.stringify(await ${run}));
    })();`;
  const { stdout, stderr } = await runNode(...flags, `--input-type=${way}`, "--eval", script);
  if (flags.length === 0) expect(stderr).toBe("");
  return JSON.parse(stdout) as T;
}

const guarded = (way: Way, entry: string, file: ScenarioFile, wasm?: string) => {
  const ofSlim = wasm === undefined ? "" : `, wasm: readFileSync(require.resolve("seenguard/${wasm}"))`;
  const run = `runScenario(seenguard, scenario, { storage: "none"${ofSlim} })`;
  return outcomeOf<Outcome>(way, ways[way]("* seenguard", entry), run, file);
};

const served = (way: Way, ...flags: string[]) => {
  const imports = ways[way]("{ SeenGuard }", "seenguard") + ways[way]("{ plan, ShardChain }", "seenguard/server");
  const run = 'serve({ ShardChain, SeenGuard, plan, fallback: () => import("seenguard/engine-js") }, scenario)';
  return outcomeOf<ServerOutcome>(way, imports, run, "scenario.json", ...flags);
};

describe.each(bothWays)("a Node app, by %s", (way) => {
  describe.each<ScenarioFile>(["scenario.json", "guava-scenario.json"])("with the snapshot of %s", (file) => {
    const expectAsFarAsNative = (outcome: Outcome) => {
      if (file === "scenario.json") expectGuarded(outcome, "none");
      else expectRefused(outcome, "none");
    };

    test("guards its feed as far as the entry can read", async () => {
      expectAsFarAsNative(await guarded(way, "seenguard", file));
    });

    test("guards its feed with seenguard/formats", async () => {
      expectGuarded(await guarded(way, "seenguard/formats", file), "none", file);
    });

    test("guards its feed with seenguard/slim by formats.wasm, by seenguard.wasm as far as that can read", async () => {
      expectGuarded(await guarded(way, "seenguard/slim", file, "formats.wasm"), "none", file);
      expectAsFarAsNative(await guarded(way, "seenguard/slim", file, "seenguard.wasm"));
    });
  });

  test("filters, records and ships as a server, also by the JavaScript engine", async () => {
    expectServed(await served(way));
    expectServed(await served(way, "--jitless"));
  });
});

test("seenguard/slim reads the module from a file URL", async () => {
  const script = `
    import { SeenGuard } from "seenguard/slim";
    const options = { storage: "none", onError: (error) => console.log(error.message) };
    const missing = await SeenGuard.open({ ...options, namespace: "1", wasm: "file:///there/is/none.wasm" });
    const guard = await SeenGuard.open({ ...options, namespace: "2", wasm: import.meta.resolve("seenguard/seenguard.wasm") });
    console.log(missing.stats().engine, guard.stats().engine);`;
  const { stdout } = await runNode("--input-type=module", "--eval", script);
  expect(stdout).toMatch(/^WebAssembly is not available: .*no such file.*\nnone wasm\n$/);
});

test("seenguard/server works on a server, and contains no guard", async () => {
  const script = `
    import { createRequire } from "node:module";
    import * as server from "seenguard/server";
    const require = createRequire(process.cwd() + "/");
    for (const entry of [server, require("seenguard/server")]) {
      const chain = await entry.ShardChain.create({ format: { kind: "go-bloomfilter" } });
      chain.record(["a", "b"]);
      console.log("SeenGuard" in entry, chain.snapshot().shards[0].slice(0, 3));
    }`;
  const { stdout } = await runNode("--input-type=module", "--eval", script);
  expect(stdout).toBe("false 2::\n".repeat(2));
});

test.each([
  ["import", "(specifier) => import(specifier)"],
  ["require", 'createRequire(process.cwd() + "/")'],
])("seenguard/near-duplicates runs in the engine of seenguard/server, by %s", async (_, load) => {
  const script = `
    import { createRequire } from "node:module";
    const load = ${load};
    const [{ ShardChain }, { simhash }] = [await load("seenguard/server"), await load("seenguard/near-duplicates")];
    try { simhash(["a"]); } catch ({ code }) { console.log(code); }
    await ShardChain.create();
    console.log(simhash(["a"]).length);`;
  // Without Wasm an engine starts only asynchronously: one entry has waited for the other.
  const { stdout } = await runNode("--jitless", "--input-type=module", "--eval", script);
  expect(stdout).toBe("engine\n16\n");
});

describe("an error in an app", () => {
  const failing = `
    import { SeenGuard } from "seenguard";
    import { ShardChain } from "seenguard/server";
    for (const start of [() => SeenGuard.open({}), () => ShardChain.create({ capacity: 0 })])
      await start().catch((error) => console.log(error.name, error.constructor.name, error.code, error.stack));`;

  test("has a stack with the package's functions and, by source maps, its files", async () => {
    const plain = await runNode("--input-type=module", "--eval", failing);
    expect(plain.stdout).toMatch(/ at checkGuardOptions /);
    expect(plain.stdout).toMatch(/ at checkChainOptions /);
    const mapped = await runNode("--enable-source-maps", "--input-type=module", "--eval", failing);
    expect(mapped.stdout).toMatch(/seenguard\/js\/guard\/options\.ts:\d+:\d+/);
    expect(mapped.stdout).toMatch(/seenguard\/js\/server\/chain-options\.ts:\d+:\d+/);
  });

  test("has its name also when the app is bundled and minified", async () => {
    const outfile = join(inject("installed"), "minified.mjs");
    await build({
      stdin: { contents: failing, resolveDir: inject("installed") },
      bundle: true,
      minify: true,
      format: "esm",
      platform: "node",
      outfile,
    });
    const { stdout } = await runNode(outfile);
    expect(stdout.match(/^SeenGuardError \w+ bad-option SeenGuardError: /gm)).toHaveLength(2);
  });
});

test("an error of one copy is an instance of the other's class, and no other error is", async () => {
  const script = `
    import { createRequire } from "node:module";
    import { SeenGuard, SeenGuardError } from "seenguard";
    import * as server from "seenguard/server";
    const copy = createRequire(process.cwd() + "/")("seenguard/server");
    class AppError extends SeenGuardError {}
    const caught = (promise) => promise.catch((error) => error);
    const errors = [await caught(SeenGuard.open({})), await caught(copy.ShardChain.from(1))];
    for (const error of [...errors, new AppError("engine", ""), new TypeError("a"), null, { code: "engine" }])
      console.log(error instanceof SeenGuardError, error instanceof copy.SeenGuardError, error instanceof AppError);
    console.log(SeenGuardError === server.SeenGuardError, SeenGuardError === copy.SeenGuardError);`;
  const { stdout } = await runNode("--input-type=module", "--eval", script);
  expect(stdout.trimEnd().split("\n")).toEqual([
    ...["true true false", "true true false", "true true true"],
    ...["false false false", "false false false", "false false false"],
    "true false",
  ]);
});

test("npx seenguard inspect prints the content of a shard", async () => {
  const { snapshot } = readScenario();
  const input = join(inject("installed"), "snapshot.json");
  await writeFile(input, JSON.stringify(snapshot));
  const args = ["--no-install", "seenguard", "inspect", input, "--has", "1r8bq8r7q4izgx"];
  const { stdout } = await promisify(execFile)("npx", args, { cwd: inject("installed") });
  expect(stdout).toMatch(/bits \(m\) +14,378\n/);
  expect(stdout).toMatch(/1r8bq8r7q4izgx +contained, in shard 0\n/);
});

function runNode(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, args, { cwd: inject("installed") });
}
