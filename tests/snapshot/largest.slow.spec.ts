/**
 * The largest snapshot that a guard accepts, on a processor as slow as a phone's: its cost in time and memory, printed with
 * SEENGUARD_MEASURE=1 and documented in SECURITY.md.
 */
import { createHash } from "node:crypto";
import type { Page } from "@playwright/test";
import { shardOf } from "../support/shards.js";
import { codes, expect, test } from "../support/chromium.js";

declare global {
  interface Window {
    /** The engine's memory, which never shrinks: its size is the peak use. */
    wasmMemory?: WebAssembly.Memory;
  }
}

const SHARDS = 64;
const BITS = 2 ** 26 / SHARDS;

/** Pseudorandom, and the same in each run: random ones might stop an id. */
const bytesOf = (epoch: number, outputLength: number) =>
  createHash("shake256", { outputLength }).update(String(epoch)).digest();

/** Shards that cannot be compressed, each about half full. */
const shardsOf = (count: number, bits = BITS) =>
  Array.from({ length: count }, (_, epoch) => shardOf({ bits, hashes: 20, epoch, payload: bytesOf(epoch, bits / 8) }));

/** Applies the shards on a throttled processor, and filters pages of 20 ids by them. */
async function measure(page: Page, shards: string[], slowdown: number) {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  const measured = await page.evaluate((texts) => {
    const timed = <T>(run: () => T) => {
      const begun = performance.now();
      return { result: run(), ms: performance.now() - begun };
    };
    window.guard.apply({ shards: [] });
    const apply = timed(() => window.guard.apply({ shards: texts }));
    const ids = Array.from({ length: 20 }, (_, index) => `article-${String(index)}`);
    const filter = timed(() => window.guard.filter(ids).length);
    const inUse = (window.guard.headers()["Seen-Held"] ?? "").split(".").length;
    const wasmBytes = window.wasmMemory?.buffer.byteLength;
    return { result: apply.result, applyMs: apply.ms, fresh: filter.result, filterMs: filter.ms, inUse, wasmBytes };
  }, shards);
  await session.send("Emulation.setCPUThrottlingRate", { rate: 1 });
  await session.detach();
  return measured;
}

test("the largest snapshot is applied, filters and is freed, with the processor at a quarter and a sixth", async ({
  reader,
}) => {
  await reader.context.addInitScript(() => {
    const { instantiate } = WebAssembly;
    WebAssembly.instantiate = (async (...args: Parameters<typeof instantiate>) => {
      const result = (await instantiate(...args)) as unknown as WebAssembly.WebAssemblyInstantiatedSource;
      window.wasmMemory = result.instance.exports.memory as WebAssembly.Memory;
      return result;
    }) as unknown as typeof instantiate;
  });
  const page = await reader.openGuardedPage({ storage: "none" });
  const shards = shardsOf(SHARDS);
  const memory: number[] = [];
  for (const slowdown of [1, 4, 6]) {
    const { result, fresh, inUse, ...figures } = await measure(page, shards, slowdown);
    if (process.env.SEENGUARD_MEASURE) console.log({ slowdown, characters: shards.join("").length, ...figures });
    expect(result).toEqual({ applied: true, covered: 0 });
    expect([fresh, inUse]).toEqual([20, SHARDS]);
    memory.push(figures.wasmBytes ?? Infinity);
  }
  expect(Math.max(...memory)).toBeLessThan(2 ** 26);
  // The filters have 8 MB together: freed memory is reused for the next ones.
  expect((memory.at(-1) ?? 0) - (memory[0] ?? 0)).toBeLessThan(2 ** 22);
  expect(await codes(page)).toEqual([]);
});
