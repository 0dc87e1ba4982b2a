/** Checks a user's stored chain, the argument of `ShardChain.from`. */
import { readGiven, SeenGuardError } from "../errors.js";
import { copyList } from "../input/ids.js";
import { copyUnseen, UNSEEN } from "../input/impressions.js";
import { anything, checkEach, isObject, isSeconds, REQUIRED, type Rules } from "../input/options.js";
import type { Impression } from "../types/server.js";

export interface StoredChain {
  readonly shards: readonly string[];
  readonly unseen: readonly Impression[];
  readonly forgetBefore?: number;
}

/** Replaces a stored element that is not a string: it is not base64 either. */
const NOT_BASE64 = "!";

const rules = {
  shards: ["a list of strings", Array.isArray, REQUIRED],
  unseen: anything,
  forgetBefore: ["a time in whole Unix seconds, not milliseconds", (time) => Number.isInteger(time) && isSeconds(time)],
} satisfies Rules;

/** Reads a list of shards, or a snapshot. Throws a `SeenGuardError`. */
export function checkStored(stored: unknown): StoredChain {
  return readGiven("bad-snapshot", "the argument of ShardChain.from", () => {
    const parts = Array.isArray(stored) ? { shards: stored as unknown[] } : isObject(stored) ? stored : {};
    const { unseen = [], ...checked } = checkEach(parts, rules, badSnapshot) as object as Partial<StoredChain>;
    const shards = copyList(checked.shards ?? []).map((shard: unknown) =>
      typeof shard === "string" ? shard : NOT_BASE64,
    );
    return { ...checked, shards, unseen: copyUnseen(unseen) ?? badSnapshot(UNSEEN) };
  });
}

function badSnapshot(message: string): never {
  throw new SeenGuardError("bad-snapshot", `ShardChain.from takes a list of shards or a snapshot, whose ${message}`);
}
