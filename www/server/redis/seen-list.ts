/**
 * One person's shards in Redis: reading them, and recording into them from many consumers at once.
 *
 * Recording reads the list, records into the chain here, and hands the elements that changed to `update-chain.lua`,
 * which takes them only if nobody changed the list in between; if somebody did, all of it is done again on what they
 * wrote. No lock is held, and of two consumers that meet one always gets through. (Written without that comparison, the
 * later of two writes takes away what the earlier one recorded.)
 */
import { EXPIRES_AFTER_SECONDS, MOST_ELEMENTS, recordInto, type Unreadable } from "../chain.ts";
import type { ScriptedRedis } from "./connection.ts";
import { replicaKey, seenKey } from "./layout.ts";

/** The person's shards, newest first. */
export function readSeen(redis: ScriptedRedis, user: string): Promise<string[]> {
  return redis.lrange(seenKey(user), 0, -1);
}

/** The same as the replica has them that stopped following. */
export function readReplica(redis: ScriptedRedis, user: string): Promise<string[]> {
  return redis.lrange(replicaKey(user), 0, -1);
}

/** Records `ids` as seen by `user`. Returns the elements that were no shards; they are gone afterwards. */
export async function recordSeen(
  redis: ScriptedRedis,
  user: string,
  ids: readonly string[],
): Promise<readonly Unreadable[]> {
  for (;;) {
    const stored = await readSeen(redis, user);
    const { shards, unreadable } = await recordInto(stored, ids);
    if (await replace(redis, user, stored, shards)) return unreadable;
  }
}

/** Writes what differs between the list as it was read and as it should be; false when the list is another by now. */
async function replace(
  redis: ScriptedRedis,
  user: string,
  stored: readonly string[],
  shards: readonly string[],
): Promise<boolean> {
  const kept = sameAtTheEnd(stored, shards);
  if (kept === stored.length && kept === shards.length) return true;
  const added = shards.slice(0, shards.length - kept).reverse();
  const newest = stored[0] ?? "";
  const answer = await redis.updateChain(
    seenKey(user),
    stored.length,
    newest,
    kept,
    MOST_ELEMENTS,
    EXPIRES_AFTER_SECONDS,
    ...added,
  );
  return answer === 1;
}

/** How many of their last elements two lists share. */
function sameAtTheEnd(one: readonly string[], other: readonly string[]): number {
  let same = 0;
  while (same < one.length && same < other.length && one.at(-1 - same) === other.at(-1 - same)) same++;
  return same;
}
