/** The module as JavaScript, for engines without Wasm, has the classes of the Wasm and answers the same. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import * as generated from "../../../js/generated/client/seenguard.js";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { stoppedBy } from "./page.mjs";

test("without WebAssembly the answers are those of Wasm", { timeout: 120_000 }, async () => {
  const script = inProject("tests", "packed", "toolchain", "without-wasm.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, [script], { maxBuffer: 1 << 24 });
  const wasm = await readFile(inProject("js", "generated", "client", "seenguard.wasm"));
  const { memory } = generated.initSync({ module: wasm });
  expect(JSON.parse(stdout)).toEqual({ ...(await stoppedBy(generated, memory)), wasm: "undefined" });
});
