/**
 * What is stored of one person in Redis: reading it, and changing it from many consumers at once.
 *
 * A change reads list and hash, is made on the chain here, and hands what is another now to `update-chain.lua`, which
 * takes it only if nobody changed either in between; if somebody did, all of it is done again on what they wrote. No
 * lock is held, and of two consumers that meet one always gets through. (Written without that comparison, the later of
 * two writes takes away what the earlier one recorded.)
 */
import {
  EXPIRES_AFTER_SECONDS,
  MOST_ELEMENTS,
  changed,
  type Change,
  type StoredSeen,
  type Unreadable,
} from "../chain.ts";
import type { ScriptedRedis } from "./connection.ts";
import { FORGET_BEFORE, UNSEEN, metaKey, replicaKey, seenKey } from "./layout.ts";

/** What is stored of the person. */
export function readSeen(redis: ScriptedRedis, user: string): Promise<StoredSeen> {
  return read(redis, seenKey(user));
}

/** The same as the replica has it that stopped following. */
export function readReplica(redis: ScriptedRedis, user: string): Promise<StoredSeen> {
  return read(redis, replicaKey(user));
}

/** Changes what is stored of `user`. Returns the elements that were no shards; they are gone afterwards. */
export async function changeSeen(redis: ScriptedRedis, user: string, change: Change): Promise<readonly Unreadable[]> {
  for (;;) {
    const stored = await readSeen(redis, user);
    const { seen, unreadable } = await changed(stored, change);
    if (await replace(redis, user, stored, seen)) return unreadable;
  }
}

/** List and hash of the same moment: a history that was deleted is not to meet the shards from before. */
async function read(redis: ScriptedRedis, key: string): Promise<StoredSeen> {
  const answers = (await redis.multi().lrange(key, 0, -1).hgetall(metaKey(key)).exec()) ?? [];
  for (const [error] of answers) if (error !== null) throw error;
  const [shards = [], fields = {}] = answers.map(([, answer]) => answer) as [string[]?, Record<string, string>?];
  return { shards, ...fromFields(fields) };
}

/** Writes what differs between what was read and what should be; false when something else is stored by now. */
async function replace(redis: ScriptedRedis, user: string, stored: StoredSeen, seen: StoredSeen): Promise<boolean> {
  const kept = sameAtTheEnd(stored.shards, seen.shards);
  const [fields, newFields] = [fieldsOf(stored), fieldsOf(seen)].map((each) => JSON.stringify(each));
  const isSameList = kept === stored.shards.length && kept === seen.shards.length;
  if (isSameList && fields === newFields) return true;
  const answer = await redis.updateChain(
    seenKey(user),
    metaKey(seenKey(user)),
    stored.shards.length,
    stored.shards[0] ?? "",
    fields ?? "",
    kept,
    newFields ?? "",
    MOST_ELEMENTS,
    EXPIRES_AFTER_SECONDS,
    ...seen.shards.slice(0, seen.shards.length - kept).reverse(),
  );
  return answer === 1;
}

/** How many of their last elements two lists share. */
function sameAtTheEnd(one: readonly string[], other: readonly string[]): number {
  let same = 0;
  while (same < one.length && same < other.length && one.at(-1 - same) === other.at(-1 - same)) same++;
  return same;
}

/** The hash of what is stored, in an order of its own. */
export function fieldsOf({ unseen = [], forgetBefore }: StoredSeen): Record<string, string> {
  const fields: Record<string, string> = Object.create(null) as Record<string, string>;
  if (forgetBefore !== undefined) fields[FORGET_BEFORE] = String(forgetBefore);
  for (const { id, at } of [...unseen].sort((a, b) => (a.id < b.id ? -1 : 1))) fields[UNSEEN + id] = String(at);
  return fields;
}

function fromFields(fields: Readonly<Record<string, string>>): Omit<StoredSeen, "shards"> {
  const unseen = Object.entries(fields)
    .filter(([field]) => field.startsWith(UNSEEN))
    .map(([field, at]) => ({ id: field.slice(UNSEEN.length), at: Number(at) }));
  const forgetBefore = fields[FORGET_BEFORE];
  return {
    ...(unseen.length > 0 && { unseen }),
    ...(forgetBefore !== undefined && { forgetBefore: Number(forgetBefore) }),
  };
}
