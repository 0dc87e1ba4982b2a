/** The module of pages can be turned into JavaScript, for engines without Wasm, and answers the same. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import * as generated from "../../js/generated/client/seenguard.js";
import { inProject } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { pathWith, wasmTestRunner } from "../../scripts/lib/rust.mjs";
import { wasmOptFlags } from "../../scripts/build/wasm.mjs";
import { stoppedBy } from "./page.mjs";

/** What wasm2js is to read; what it cannot, wasm-opt takes out before. */
const features = ["bulk-memory", "bulk-memory-opt", "sign-ext", "mutable-globals"].map((name) => `--enable-${name}`);

const binaryen = (name: string, ...args: string[]) =>
  run(process.execPath, [inProject("node_modules", "binaryen", "bin", name), ...args]);

test("without WebAssembly the answers are those of Wasm", { timeout: 120_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-wasm2js-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await translate(directory);

  const script = inProject("tests", "toolchain", "without-wasm.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, [script, directory], { maxBuffer: 1 << 24 });
  const wasm = await readFile(inProject("js", "generated", "client", "seenguard.wasm"));
  const { memory } = generated.initSync({ module: wasm });
  expect(JSON.parse(stdout)).toEqual({ ...(await stoppedBy(generated, memory)), wasm: "undefined" });
});

/** Makes module.js, and beside it the glue that it imports. */
async function translate(directory: string): Promise<void> {
  const inDirectory = (name: string) => join(directory, name);
  const target = ["--target", "bundler", "--out-dir", directory, "--out-name", "seenguard"];
  const env = await pathWith([wasmTestRunner]);
  await run("wasm-bindgen", [...target, inProject("target", "wasm", "client.wasm")], { env });
  const flags = await wasmOptFlags();
  await binaryen("wasm-opt", inDirectory("seenguard_bg.wasm"), "--output", inDirectory("optimised.wasm"), ...flags);
  const lowering = ["--llvm-nontrapping-fptoint-lowering", "--disable-multivalue"];
  await binaryen(
    "wasm-opt",
    inDirectory("optimised.wasm"),
    "--output",
    inDirectory("lowered.wasm"),
    ...flags.slice(1),
    ...lowering,
  );
  await binaryen("wasm2js", inDirectory("lowered.wasm"), "--output", inDirectory("module.js"), ...features);
  await writeFile(inDirectory("package.json"), '{ "type": "module" }');
  // A memory that is an array cannot detach the views of what it was before it grew.
  const glue = await readFile(inDirectory("seenguard_bg.js"), "utf8");
  const growing = glue.replaceAll(
    /(cached\w+)\.(?:byteLength === 0|buffer\.detached === true)/g,
    "$1.buffer !== wasm.memory.buffer",
  );
  expect(growing).not.toBe(glue);
  await writeFile(inDirectory("seenguard_bg.js"), growing);
}
