/** What everything weighs: the package's files, what a server sends, and what a guard holds. */
import { readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
import { SeenGuard } from "seenguard";
import { inProject } from "../scripts/lib/paths.mjs";
import { shortIds } from "./ids.ts";
import type { Peer } from "./peers.ts";
import type { Place } from "./places/place.ts";

export interface FileSize {
  readonly bytes: number;
  readonly gzip: number;
  readonly brotli: number;
}

export interface Bytes {
  /** The files of dist/, minified, by name. */
  readonly files: Readonly<Record<string, FileSize>>;
  /** What a server sends of 5 shards of 1,000 ids, for each peer. */
  readonly message: Readonly<Record<string, { bytes: number; brotli: number }>>;
  /** What a guard holds in memory: of those shards, and of 1,000 impressions more. */
  readonly held: { readonly shards: number; readonly withImpressions: number };
  /** What a Set of the ids takes of the heap instead, in each place. */
  readonly sets: Readonly<Record<string, number>>;
}

/** `places`: how to open each, and its Set is weighed there. */
export async function weigh(peers: readonly Peer[], places: readonly (() => Promise<Place>)[]): Promise<Bytes> {
  const shards = Array.from({ length: 5 }, (_, seed) => shortIds(1000, seed));
  const messages = await Promise.all(peers.map(async (peer) => [peer.name, await peer.message(shards)] as const));
  const { sizes } = JSON.parse(readFileSync(inProject("dist", "sizes.json"), "utf8")) as {
    sizes: Record<string, FileSize>;
  };
  const snapshot = messages.find(([name]) => name === "seenguard")?.[1] ?? "";
  return {
    files: sizes,
    message: Object.fromEntries(messages.map(([name, message]) => [name, weightOf(message)])),
    held: await weightOfGuard(snapshot),
    sets: await weightOfSets(JSON.stringify(shards.flat()), places),
  };
}

/** As it is, and as a server compresses what it makes for one request. */
function weightOf(message: string): { bytes: number; brotli: number } {
  const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
  return { bytes: Buffer.byteLength(message), brotli: brotliCompressSync(message, quick).length };
}

async function weightOfGuard(snapshot: string): Promise<Bytes["held"]> {
  const guard = await SeenGuard.open({ namespace: "bench:weight", storage: "none" });
  guard.apply(JSON.parse(snapshot) as { shards: string[] });
  const shards = guard.stats().bytes;
  guard.record(shortIds(1000, 99));
  const withImpressions = guard.stats().bytes;
  await guard.close();
  return { shards, withImpressions };
}

async function weightOfSets(ids: string, places: readonly (() => Promise<Place>)[]): Promise<Bytes["sets"]> {
  const sets: Record<string, number> = {};
  for (const open of places) {
    const place = await open();
    sets[place.title] = await place.heapOfSet(ids);
    await place.close();
  }
  return sets;
}
