/** Checks the form of a snapshot. The engine checks the shards themselves. */
import type { SnapshotArguments } from "../engine/engine-guard.js";
import type { ReadShards } from "../engine/load.js";
import { readGiven, SeenGuardError } from "../errors.js";
import { attempt } from "../platform/host.js";
import { checkFormat, REDISBLOOM } from "./format.js";
import { copyList } from "./ids.js";
import { copyUnseen, UNSEEN } from "./impressions.js";
import { anything, checkEach, isObject, isSeconds, ownValue, REQUIRED, type Rules } from "./options.js";

/** The number of an unknown format, for which the engine's error names the right import. */
const UNKNOWN_FORMAT = 255;

/** Reads shards for an entry whose engine supports only the native format. It refuses any other. */
export const readNative: ReadShards = (format, shards) =>
  format === undefined || format === "seenguard"
    ? { format: [0, 0, 0], shards: mapShards(shards, stringOf) }
    : { format: [UNKNOWN_FORMAT, 0, 0], shards: [] };

/** Reads shards in all formats, for entries whose module supports them. */
export const readFormats: ReadShards = (named, shards) => {
  const format = checkFormat(named, badPart);
  return { format, shards: mapShards(shards, format[0] === REDISBLOOM ? chunksOf : stringOf) };
};

/** The chunks of a dump as an argument of the engine: joined by commas. */
function chunksOf(shard: unknown, name: string): string {
  // A reference stands for all chunks of a shard.
  if (typeof shard === "string" && shard.startsWith("~")) return shard;
  const chunks: unknown[] = Array.isArray(shard) ? copyList(shard) : [undefined];
  if (!chunks.every((chunk) => typeof chunk === "string"))
    return bad(`${name} must be a list of strings: the chunks of BF.SCANDUMP, in order, as base64`);
  // Otherwise one chunk could be read as two.
  if (chunks.some((chunk) => chunk.includes(","))) return bad(`bad-base64: ${name} has a chunk other than base64`);
  return chunks.join();
}

const rules = {
  version: [
    "a whole number from 0 to 2^53 - 1",
    (version) => Number.isSafeInteger(version) && (version as number) >= 0,
  ],
  now: ["the server's clock in Unix seconds, not milliseconds", isSeconds],
  shards: ["a list of strings", Array.isArray, REQUIRED],
  unseen: anything,
  forgetBefore: ["a time of the server's clock in Unix seconds, not milliseconds", isSeconds],
} satisfies Rules;

/** Whether a page's field `snapshot` is a snapshot: without a list of shards it belongs to another API. */
export function isSnapshot(value: unknown): boolean {
  // `apply` reports what cannot be read, such as a revoked proxy.
  return attempt(() => isObject(value) && Array.isArray(ownValue(value, "shards"))) ?? true;
}

/** Reads an untrusted snapshot. Throws a `SeenGuardError`. */
export function checkSnapshot(snapshot: unknown, readShards: ReadShards): SnapshotArguments {
  return readGiven("bad-snapshot", "the snapshot", () => {
    // Only objects have shards.
    const parts = (snapshot ?? {}) as Record<string, unknown>;
    const { version, shards, now, unseen = [], forgetBefore } = checkEach(parts, rules, badPart);
    return {
      version: Number(version),
      nowMs: Math.floor(Number(now) * 1000),
      unseen: copyUnseen(unseen) ?? badPart(UNSEEN),
      forgetBefore: Number(forgetBefore),
      ...readShards(ownValue(parts, "format"), shards as readonly unknown[]),
    };
  });
}

/** The shards as strings. */
function mapShards(shards: readonly unknown[], stringOf: (shard: unknown, name: string) => string): string[] {
  return copyList(shards).map((shard, index) => stringOf(shard, `shard ${index}`));
}

function stringOf(shard: unknown, name: string): string {
  return typeof shard === "string" ? shard : bad(`${name} must be a base64 string`);
}

function badPart(message: string): never {
  bad(`a snapshot's ${message}`);
}

function bad(message: string): never {
  throw new SeenGuardError("bad-snapshot", message);
}
