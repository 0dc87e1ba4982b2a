/** `wasm-pack build --target web` makes a module that works by itself, as other projects build the crate. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { pathWith, wasmPack, wasmTestRunner } from "../../../scripts/lib/rust.mjs";
import { stoppedBy, readVectors, type Classes } from "./page.mjs";

type Generated = Classes & { initSync(options: { module: BufferSource }): { memory: { buffer: ArrayBuffer } } };

test("the generated classes filter a page", { timeout: 900_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-wasm-pack-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const { PATH } = await pathWith([wasmPack, wasmTestRunner]);
  const env = { PATH: [inProject("node_modules", ".bin"), PATH].join(delimiter) };
  await run("wasm-pack", ["build", "--target", "web", "--mode", "no-install", "--out-dir", directory], { env });

  const generated = (await import(pathToFileURL(join(directory, "seenguard.js")).href)) as Generated;
  const { memory } = generated.initSync({ module: await readFile(join(directory, "seenguard_bg.wasm")) });
  const { ids, contained } = await readVectors();
  expect(await stoppedBy(generated, memory)).toEqual({ byShard: contained, recorded: ids.slice(0, 10) });
});
