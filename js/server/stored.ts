/** Checks what a store holds of a user, in the form in which `ShardChain.from` takes it. */
import { SeenGuardError } from "../errors.js";
import { IMPRESSIONS, isImpressions, MAX_UNSEEN } from "../impressions.js";
import { checkEach, isObject, REQUIRED, type Rules } from "../options.js";
import type { Impression } from "../types/server.js";

export interface StoredChain {
  readonly shards: readonly string[];
  readonly unseen: readonly Impression[];
  readonly forgetBefore?: number;
}

/** Stands for a stored element that is no text: it is no base64 either. */
const NOT_BASE64 = "!";
const MAX_SECONDS = 2 ** 32 - 1;

const rules = {
  shards: ["a list of texts", Array.isArray, REQUIRED],
  unseen: [
    `a list of at most ${String(MAX_UNSEEN)} ids, ${IMPRESSIONS}`,
    (list) => isImpressions(list, MAX_UNSEEN),
    [],
  ],
  forgetBefore: [
    "a time in whole Unix seconds, not milliseconds",
    (time) => Number.isInteger(time) && (time as number) >= 0 && (time as number) <= MAX_SECONDS,
  ],
} satisfies Rules;

/** Reads a list of shards, or a snapshot. Throws a `SeenGuardError`. */
export function checkStored(stored: unknown): StoredChain {
  const parts = Array.isArray(stored) ? { shards: stored as unknown[] } : isObject(stored) ? stored : {};
  const checked = checkEach(parts, rules, badSnapshot) as object as StoredChain;
  // Array.from fills the holes of a sparse list with undefined.
  const shards = Array.from<unknown, string>(checked.shards, (shard) =>
    typeof shard === "string" ? shard : NOT_BASE64,
  );
  return { ...checked, shards };
}

function badSnapshot(message: string): never {
  throw new SeenGuardError("bad-snapshot", `ShardChain.from takes a list of shards or a snapshot, whose ${message}`);
}
