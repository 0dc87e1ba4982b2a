/** `seenguard/server`: Node, Deno, Bun; a browser, too. All formats. Needs no DOM types. */
import type { ErrorCode, Identified, IdOf, ItemId, ShardFormat, Snapshot } from "./seenguard.js";
export { SeenGuardError } from "./seenguard.js";
export type { ErrorCode, Identified, IdOf, ItemId, ShardFormat, Snapshot } from "./seenguard.js";

/** One user's shards. */
export declare class ShardChain {
  private constructor();
  static create(options?: ChainOptions): Promise<ShardChain>;
  /**
   * Goes on from what the store holds: a list of shards, or a snapshot. An element that cannot be read is left out and
   * listed in `rejected`. A newest shard with other parameters than the options' is sealed.
   */
  static from(stored: Snapshot | readonly string[], options?: ChainOptions): Promise<ShardChain>;
  readonly rejected: readonly { index: number; code: ErrorCode }[];
  /**
   * Inserts each id that the newest shard does not contain; returns how many no live shard contained. An id that is not
   * usable is left out.
   */
  record(ids: ItemId | Iterable<ItemId>, options?: { now?: number }): number;
  has(id: ItemId, options?: { now?: number }): boolean;
  /** The items that no live shard contains, a duplicate id once; an item without a usable id is kept. */
  filter<T extends Identified>(items: readonly T[], options?: { now?: number }): T[];
  filter<T>(items: readonly T[], options: { id: IdOf<T>; now?: number }): T[];
  /** What to ship, and what to store. */
  snapshot(options?: { now?: number }): Snapshot & { shards: string[] };
  free(): void;
}
/**
 * All `now` are Unix seconds of the server's clock, by default its own; over 2^32 − 1 (milliseconds) is refused with
 * `bad-option`.
 */
export interface ChainOptions {
  /** Items a shard. @default 1000 */
  capacity?: number;
  /** @default 5 */
  shards?: number;
  /** Of each full shard. @default 0.001 */
  falsePositiveRate?: number;
  /** One for a deployment. @default 0n */
  seed?: bigint;
  /**
   * No item is forgotten earlier than this, unless (shards − 1) · capacity others were inserted since, nor kept longer
   * than this × (1 + 1 / max(1, shards − 1)); 0: by capacity alone. @default 0
   */
  ttlSeconds?: number;
  /**
   * What the store holds, and `snapshot` ships. A go-bloomfilter format without sizes of its own has the chain's:
   * `capacity` and `falsePositiveRate`.
   */
  format?: ShardFormat | { kind: "go-bloomfilter" };
}
