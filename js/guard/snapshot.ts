/** Checks a snapshot's form before it goes into the engine, which checks the shards themselves. */
import { readGiven, SeenGuardError } from "../errors.js";
import { copyList } from "../ids.js";
import { copyUnseen, UNSEEN } from "../impressions.js";
import { anything, checkEach, REQUIRED, type Rules } from "../options.js";
import type { SnapshotArguments } from "./engine-types.js";

/** Reads shards of the format that a snapshot names. What is wrong throws. */
export type ReadShards = (format: unknown, shards: readonly unknown[]) => Pick<SnapshotArguments, "format" | "shards">;

/** No engine knows a format of this number: it refuses it, and says what to import. */
const UNKNOWN_FORMAT = 255;

/** An entry that reads the native format alone has the engine refuse any other one, even if that knows them all. */
let readShards: ReadShards = (format, shards) =>
  format === undefined || format === "seenguard"
    ? { format: [0, 0, 0], shards: mapShards(shards, textOf) }
    : { format: [UNKNOWN_FORMAT, 0, 0], shards: [] };

/** Says that this entry's engine may know the formats of other libraries. */
export function provideFormats(read: ReadShards): void {
  readShards = read;
}

/** Expiries are stored in 32 bits. */
const MAX_SECONDS = 2 ** 32 - 1;

const isSeconds = (time: unknown) => Number.isFinite(time) && (time as number) >= 0 && (time as number) <= MAX_SECONDS;

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

/** Reads all of a snapshot but its shards and their format. Throws what is wrong. */
export function checkParts(parts: Readonly<Record<string, unknown>>): Omit<SnapshotArguments, "format" | "shards"> & {
  readonly shards: readonly unknown[];
} {
  const { version, shards, now, unseen = [], forgetBefore } = checkEach(parts, rules, badPart);
  return {
    shards: shards as readonly unknown[],
    version: Number(version),
    nowMs: Math.floor(Number(now) * 1000),
    unseen: copyUnseen(unseen) ?? badPart(UNSEEN),
    forgetBefore: Number(forgetBefore),
  };
}

/** Reads a snapshot of any origin. Throws a `SeenGuardError`. */
export function checkSnapshot(snapshot: unknown): SnapshotArguments {
  return readGiven("bad-snapshot", "the snapshot", () => {
    // What is no object has no shards.
    const parts = (snapshot ?? {}) as Record<string, unknown>;
    const checked = checkParts(parts);
    return { ...checked, ...readShards(parts.format, checked.shards) };
  });
}

/** The shards as texts. */
export function mapShards(shards: readonly unknown[], textOf: (shard: unknown, name: string) => string): string[] {
  return copyList(shards).map((shard, index) => textOf(shard, `shard ${index}`));
}

export function textOf(shard: unknown, name: string): string {
  return typeof shard === "string" ? shard : bad(`${name} is no text`);
}

export function badPart(message: string): never {
  bad(`a snapshot's ${message}`);
}

export function bad(message: string, code: SeenGuardError["code"] = "bad-snapshot"): never {
  throw new SeenGuardError(code, message);
}
