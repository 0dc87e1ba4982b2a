/** Checks a snapshot's form before it goes into the engine, which checks the shards themselves. */
import type { SnapshotArguments } from "../engine/engine-types.js";
import type { ReadShards } from "../engine/load.js";
import { readGiven, SeenGuardError } from "../errors.js";
import { attempt } from "../platform/host.js";
import { copyList } from "./ids.js";
import { copyUnseen, UNSEEN } from "./impressions.js";
import { anything, checkEach, isObject, isSeconds, ownValue, REQUIRED, type Rules } from "./options.js";

/** An unknown number of a format: the engine refuses it with the import that is needed. */
const UNKNOWN_FORMAT = 255;

/** Reads shards for an entry whose engine supports only the native format. It refuses any other. */
export const readNative: ReadShards = (format, shards) =>
  format === undefined || format === "seenguard"
    ? { format: [0, 0, 0], shards: mapShards(shards, textOf) }
    : { format: [UNKNOWN_FORMAT, 0, 0], shards: [] };

const rules = {
  version: [
    "a whole number from 0 to 2^53 - 1",
    (version) => Number.isSafeInteger(version) && (version as number) >= 0,
  ],
  now: ["the server's clock in Unix seconds, not milliseconds", isSeconds],
  shards: ["a list of texts", Array.isArray, REQUIRED],
  unseen: anything,
  forgetBefore: ["a time of the server's clock in Unix seconds, not milliseconds", isSeconds],
} satisfies Rules;

/** Whether a field `snapshot` of a page is one: without a list of shards, it belongs to another API. */
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

/** The shards as texts. */
export function mapShards(shards: readonly unknown[], textOf: (shard: unknown, name: string) => string): string[] {
  return copyList(shards).map((shard, index) => textOf(shard, `shard ${index}`));
}

export function textOf(shard: unknown, name: string): string {
  return typeof shard === "string" ? shard : bad(`${name} must be a base64 string`);
}

export function badPart(message: string): never {
  bad(`a snapshot's ${message}`);
}

export function bad(message: string): never {
  throw new SeenGuardError("bad-snapshot", message);
}
