/** `wasm-pack build --target web` makes a module that works by itself, as other projects build the crate. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { pathWith, wasmPack, wasmTestRunner } from "../../../scripts/lib/rust.mjs";
import { idsOf, NOW, shippedSnapshot } from "../../support/node.js";

type Generated = typeof import("../../../js/generated/client/seenguard.js");

test("the generated classes filter a page", { timeout: 900_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-wasm-pack-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const { PATH } = await pathWith([wasmPack, wasmTestRunner]);
  const env = { PATH: [inProject("node_modules", ".bin"), PATH].join(delimiter) };
  await run("wasm-pack", ["build", "--target", "web", "--mode", "no-install", "--out-dir", directory], { env });

  const generated = (await import(pathToFileURL(join(directory, "seenguard.js")).href)) as Generated;
  const { memory } = generated.initSync({ module: await readFile(join(directory, "seenguard_bg.wasm")) });
  const { FilterKind, Guard, RecordKind } = generated;
  const guard = new Guard(30, 10_000, Float64Array.of(1));
  const write = (texts: readonly string[]) => {
    const bytes = new TextEncoder().encode(texts.join("\0"));
    const [endsAt, bytesAt] = [guard.ends(texts.length), guard.reserve(bytes.length)];
    let end = 0;
    new Uint32Array(memory.buffer, endsAt, texts.length).set(texts.map((text) => (end += text.length)));
    new Uint8Array(memory.buffer, bytesAt, bytes.length).set(bytes);
    guard.separated(bytes.length);
  };
  const { shards } = await shippedSnapshot(idsOf("seen", 100));
  write(shards);
  guard.apply(0, 0, 0, NaN, NaN, new Float64Array(), NaN, false, true, NOW * 1000);
  write(idsOf("shown", 10));
  guard.record(RecordKind.Seen, NOW * 1000);
  const page = [...idsOf("seen", 100), ...idsOf("shown", 10), "fresh"];
  write(page);
  const count = guard.filter(FilterKind.Fresh, NOW * 1000);
  expect([...new Uint32Array(memory.buffer, guard.indices(), count)]).toEqual([page.length - 1]);
});
