/** Sizes: the package's files, a server's responses, and a guard's memory. */
import { readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
import type { Snapshot } from "seenguard";
import { ShardChain } from "seenguard/server";
import { SeenGuard } from "seenguard/slim";
import { inProject } from "../../scripts/lib/paths.mjs";
import { shortIds } from "./ids.ts";
import type { Peer } from "./peers.ts";
import type { Place } from "./places/place.ts";
import { shardSizes, weighShards, type ShardCosts } from "./shard-sizes.ts";

export interface FileSize {
  readonly bytes: number;
  readonly gzip: number;
  readonly brotli: number;
}

export interface Bytes {
  /** The entries in an app, minified, and the files of dist/ that are loaded unchanged. */
  readonly files: Readonly<Record<string, FileSize>>;
  /** A server's response with 5 shards of 1,000 ids, for each peer. */
  readonly message: Readonly<Record<string, Message>>;
  /** A guard's Wasm memory with those shards, or with 10,000 impressions that a snapshot has covered. */
  readonly held: Readonly<Record<Held, number>>;
  /** The heap of a Set of the same ids, in each runtime. */
  readonly heaps: Readonly<Record<string, Readonly<Record<Held, number>>>>;
  readonly shardSizes: readonly ShardCosts[];
}

type Held = "shards" | "impressions";

const WASM = readFileSync(inProject("dist", "seenguard.wasm"));

interface Message {
  readonly bytes: number;
  readonly brotli: number;
}

/** Measures all sizes. @param places opens each runtime, to measure its Set */
export async function weigh(peers: readonly Peer[], places: readonly (() => Promise<Place>)[]): Promise<Bytes> {
  const shards = Array.from({ length: 5 }, (_, seed) => shortIds(1000, seed));
  const messages = await Promise.all(peers.map(async (peer) => [peer.name, await peer.message(shards)] as const));
  const { sizes } = JSON.parse(readFileSync(inProject("target", "sizes.json"), "utf8")) as {
    sizes: Record<string, FileSize>;
  };
  const snapshot = messages.find(([name]) => name === "seenguard")?.[1] ?? "";
  const impressions = shortIds(10_000, 99);
  return {
    files: sizes,
    message: weightsOf(messages),
    held: { shards: await weightOfShards(snapshot), impressions: await weightOfImpressions(impressions) },
    heaps: await weightOfHeaps({ shards: shards.flat(), impressions }, places),
    shardSizes: await Promise.all(shardSizes.map(weighShards)),
  };
}

/** The sizes uncompressed, and as a server compresses a single response. */
function weightsOf(messages: readonly (readonly [name: string, message: string])[]): Record<string, Message> {
  const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
  const weightOf = (message: string) => ({
    bytes: Buffer.byteLength(message),
    brotli: brotliCompressSync(message, quick).length,
  });
  return Object.fromEntries(messages.map(([name, message]) => [name, weightOf(message)]));
}

function weightOfShards(snapshot: string): Promise<number> {
  return weightOfGuard(1000, (guard) => guard.apply(JSON.parse(snapshot) as Snapshot));
}

async function weightOfImpressions(ids: readonly string[]): Promise<number> {
  const chain = await ShardChain.create({ capacity: ids.length });
  chain.record(ids);
  const covering = chain.snapshot();
  chain.free();
  return weightOfGuard(100, (guard) => {
    guard.record(ids);
    guard.apply(covering);
    guard.apply({ shards: [] });
    if (guard.stats().remembered !== ids.length || guard.stats().pending > 0) throw new Error("not all are covered");
  });
}

/** The growth of the engine's memory for each of N guards, after the free memory of earlier guards is used. */
async function weightOfGuard(count: number, fill: (guard: SeenGuard) => void): Promise<number> {
  const memory = (engineMemory ??= await loadEngine());
  const guards: SeenGuard[] = [];
  const open = async () => {
    const guard = await openGuard(String(guards.length));
    guards.push(guard);
    fill(guard);
  };
  const first = memory.buffer.byteLength;
  while (memory.buffer.byteLength === first) await open();
  const before = memory.buffer.byteLength;
  for (let opened = 0; opened < count; opened++) await open();
  const bytes = (memory.buffer.byteLength - before) / count;
  for (const guard of guards) await guard.close();
  return bytes;
}

let engineMemory: WebAssembly.Memory | undefined;

/**
 * Loads the engine of `seenguard/slim`, unused elsewhere in the benchmarks. Returns its memory, which never shrinks.
 */
async function loadEngine(): Promise<WebAssembly.Memory> {
  const { instantiate } = WebAssembly;
  const memories: WebAssembly.Memory[] = [];
  WebAssembly.instantiate = (async (module: WebAssembly.Module, imports: WebAssembly.Imports) => {
    const instance = await instantiate(module, imports);
    memories.push(instance.exports.memory as WebAssembly.Memory);
    return instance;
  }) as typeof instantiate;
  await (await openGuard("first")).close();
  WebAssembly.instantiate = instantiate;
  const [memory] = memories;
  if (!memory) throw new Error("the engine was loaded before");
  return memory;
}

function openGuard(name: string): Promise<SeenGuard> {
  // Too many to be pending: ignore that error until they are covered.
  const onError = () => undefined;
  return SeenGuard.open({ namespace: `bench:weight:${name}`, storage: "none", wasm: WASM, onError });
}

async function weightOfHeaps(
  ids: Readonly<Record<Held, readonly string[]>>,
  places: readonly (() => Promise<Place>)[],
): Promise<Bytes["heaps"]> {
  const heaps: Record<string, Bytes["heaps"][string]> = {};
  for (const open of places) {
    const place = await open();
    heaps[place.title] = {
      shards: await place.heapOf(JSON.stringify(ids.shards)),
      impressions: await place.heapOf(JSON.stringify(ids.impressions)),
    };
    await place.close();
  }
  return heaps;
}
