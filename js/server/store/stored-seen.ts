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

/** A field of the hash and its value. */
export type Field = readonly [name: string, value: string];

/** Any text may be an id, so the names of their fields have a prefix. */
const FORGET_BEFORE = "forgetBefore";
const UNSEEN = "unseen:";

/** What is held beside the shards, as the JSON of a hash's fields. */
export function fieldsOf({ unseen = [], forgetBefore }: StoredSeen): string {
  const fields = unseen.map(({ id, at }): Field => [UNSEEN + id, String(at)]);
  if (forgetBefore !== undefined) fields.push([FORGET_BEFORE, String(forgetBefore)]);
  return jsonOf(fields);
}

/** The same text for the same fields, in whatever order they are. */
export function jsonOf(fields: readonly Field[]): string {
  return JSON.stringify(Object.fromEntries([...fields].sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Reads a hash. A field that means nothing is left out. */
export function fromFields(fields: readonly Field[]): Omit<StoredSeen, "shards"> {
  const unseen: Impression[] = [];
  let forgetBefore: number | undefined;
  for (const [name, value] of fields) {
    const time = Number(value);
    if (!Number.isFinite(time)) continue;
    if (name === FORGET_BEFORE) forgetBefore = time;
    else if (name.startsWith(UNSEEN)) unseen.push({ id: name.slice(UNSEEN.length), at: time });
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
