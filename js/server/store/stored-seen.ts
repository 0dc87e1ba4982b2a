/** What a store holds of a user, and what it becomes in a Redis hash. */
import type { Impression } from "../../types/server.js";

/** As `ShardChain.from` takes it. */
export interface StoredSeen {
  /** Newest first. */
  readonly shards: readonly string[];
  /** What was taken back. */
  readonly unseen?: readonly Impression[];
  /** When the history was deleted. */
  readonly forgetBefore?: number;
}

export const NOTHING_SEEN: StoredSeen = { shards: [] };

/** Fields of the hash. Any text may be an id, so ids have a prefix. */
const FORGET_BEFORE = "forgetBefore";
const UNSEEN = "unseen:";

/** What is held beside the shards, as the JSON of a hash's fields: the same for the same. */
export function fieldsOf({ unseen = [], forgetBefore }: StoredSeen): string {
  const fields = unseen.map(({ id, at }): [string, string] => [UNSEEN + id, String(at)]);
  if (forgetBefore !== undefined) fields.push([FORGET_BEFORE, String(forgetBefore)]);
  return JSON.stringify(Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Reads a hash as Redis lists it: field, value, field, value. What is none of these fields is left out. */
export function fromFields(list: readonly string[]): Omit<StoredSeen, "shards"> {
  const unseen: Impression[] = [];
  let forgetBefore: number | undefined;
  for (let index = 0; index < list.length; index += 2) {
    const field = list[index] ?? "";
    const value = Number(list[index + 1]);
    if (!Number.isFinite(value)) continue;
    if (field === FORGET_BEFORE) forgetBefore = value;
    else if (field.startsWith(UNSEEN)) unseen.push({ id: field.slice(UNSEEN.length), at: value });
  }
  return { ...(unseen.length > 0 && { unseen }), ...(forgetBefore !== undefined && { forgetBefore }) };
}

export function isSame(one: StoredSeen, other: StoredSeen): boolean {
  return (
    one.shards.length === other.shards.length &&
    one.shards.every((shard, index) => shard === other.shards[index]) &&
    fieldsOf(one) === fieldsOf(other)
  );
}
