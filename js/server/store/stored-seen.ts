/** What a store holds of a user. What it means, the module knows. */

export interface StoredSeen {
  /** Newest first. */
  readonly shards: readonly string[];
  /** What is beside them, each name followed by its value. */
  readonly fields: readonly string[];
}

/** With what is kept of devices' pending impressions. */
export interface ReadSeen<Seen extends StoredSeen> {
  readonly seen: Seen;
  /** In lines: Unix seconds, and what the device told. */
  readonly kept: string;
  /** Why what the asking device has pending could not be kept. */
  readonly refusal?: unknown;
}

export const NOTHING_SEEN: StoredSeen = { shards: [], fields: [] };

export function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}
