/** The installed package in Node, by each kind of module. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, inject, test } from "vitest";
import type { Told } from "./apps/story.js";
import { expectGuarded, expectRefused, readChapters, type ChaptersFile } from "./chapters.js";

describe.each<ChaptersFile>(["chapters.json", "guava-chapters.json"])("with the snapshot of %s", (file) => {
  const tellOf = async (app: string, ...args: string[]): Promise<Told> => {
    const { stdout, stderr } = await runNode(join(inject("installed"), "node", app), file, ...args);
    expect(stderr).toBe("");
    return JSON.parse(stdout) as Told;
  };

  test.each(["esm.mjs", "cjs.cjs"])("node/%s guards its feed", async (app) => {
    expectGuarded(await tellOf(app), "none", file);
  });

  test.each(["slim.mjs", "slim.cjs"])("node/%s guards its feed by formats.wasm", async (app) => {
    expectGuarded(await tellOf(app, "formats.wasm"), "none", file);
  });

  test.each(["slim.mjs", "slim.cjs"])(
    "node/%s guards its feed by seenguard.wasm as far as that can read",
    async (app) => {
      const told = await tellOf(app, "seenguard.wasm");
      if (file === "chapters.json") expectGuarded(told, "none");
      else expectRefused(told, "none");
    },
  );
});

test("seenguard/formats is what Node gets as seenguard, and keeps a server's own records", async () => {
  const script = `
    import { createRequire } from "node:module";
    import * as seenguard from "seenguard";
    import * as formats from "seenguard/formats";
    const require = createRequire(process.cwd() + "/");
    const options = { format: { kind: "go-bloomfilter" } };
    const written = [];
    for (const entry of [seenguard, formats, require("seenguard"), require("seenguard/formats")]) {
      const chain = await entry.ShardChain.create(options);
      chain.record(["a", "b"]);
      written.push(chain.snapshot().shards[0]);
    }
    console.log(seenguard.ShardChain === formats.ShardChain, require("seenguard") === require("seenguard/formats"));
    console.log(new Set(written).size, written[0].slice(0, 3));`;
  const { stdout } = await runNode("--input-type=module", "--eval", script);
  expect(stdout).toBe("true true\n1 2::\n");
});

test("seenguard/slim makes chains without being told where a module is, or when told of that of a guard", async () => {
  const script = `
    import { readFile } from "node:fs/promises";
    import { createRequire } from "node:module";
    import * as slim from "seenguard/slim";
    const require = createRequire(process.cwd() + "/");
    const wasm = await readFile(require.resolve("seenguard/seenguard.wasm"));
    for (const entry of [slim, require("seenguard/slim")]) {
      for (const options of [undefined, { wasm }]) {
        const chain = await entry.ShardChain.create(options);
        console.log(chain.record(["a", "b"]), chain.has("b"), chain instanceof entry.ShardChain);
      }
    }`;
  const { stdout } = await runNode("--input-type=module", "--eval", script);
  expect(stdout).toBe("2 true true\n".repeat(4));
});

test("importing it does nothing", async () => {
  const script = `
    const before = Reflect.ownKeys(globalThis).length;
    await import("seenguard");
    await import("seenguard/slim");
    await import(new URL("index.js", import.meta.resolve("seenguard/slim")).href);
    console.log(Reflect.ownKeys(globalThis).length - before);`;
  const { stdout } = await runNode("--input-type=module", "--eval", script);
  expect(stdout.trim()).toBe("0"); // no global was added, and no timer or handle kept Node from ending
});

test("a closed guard leaves nothing behind that keeps Node from ending", async () => {
  const script = `
    import { SeenGuard } from "seenguard";
    const guard = await SeenGuard.open({ namespace: "home:1", storage: "none" });
    guard.record("a");
    await guard.close();
    console.log(JSON.stringify(process.getActiveResourcesInfo().filter((kind) => kind === "Timeout")));`;
  const { stdout } = await runNode("--input-type=module", "--eval", script);
  expect(JSON.parse(stdout)).toEqual([]);
});

test("a copy as ES module and one as CommonJS share the guard of a namespace", async () => {
  const script = `
    import { createRequire } from "node:module";
    import { SeenGuard } from "seenguard";
    const copy = createRequire(process.cwd() + "/")("seenguard").SeenGuard;
    const open = (entry) => entry.open({ namespace: "home:1", storage: "none" });
    const [one, other] = [await open(SeenGuard), await open(copy)];
    one.record("a");
    console.log(SeenGuard === copy, other.has("a"));`;
  const { stdout } = await runNode("--input-type=module", "--eval", script);
  expect(stdout.trim()).toBe("false true");
});

test("npx seenguard inspect tells what a shard holds", async () => {
  const { snapshot } = readChapters();
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
