/** The installed package in Node, by each kind of module. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import type { Told } from "./apps/story.js";
import { expectGuarded, readChapters } from "./chapters.js";

test.each(["esm.mjs", "cjs.cjs", "slim.mjs", "slim.cjs"])("node/%s guards its feed", async (app) => {
  const { stdout, stderr } = await runNode(join(inject("installed"), "node", app));
  expectGuarded(JSON.parse(stdout) as Told, "none");
  expect(stderr).toBe("");
});

test("importing it does nothing", async () => {
  const script = `
    const before = Reflect.ownKeys(globalThis).length;
    await import("seenguard");
    await import("seenguard/slim");
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
