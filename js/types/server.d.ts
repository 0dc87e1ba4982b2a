/** `seenguard/server`: Node, Deno, Bun; a browser, too. All formats. Needs no DOM types. */
import type { ErrorCode, Identified, IdOf, ItemId, Report, ShardFormat, Snapshot } from "./seenguard.js";
export { SeenGuardError } from "./seenguard.js";
export type { ErrorCode, Identified, IdOf, Impression, ItemId, Report, ShardFormat, Snapshot } from "./seenguard.js";

/** One user's shards, and beside them what was taken back and when the history was deleted. */
export declare class ShardChain {
  private constructor();
  static create(options?: ChainOptions): Promise<ShardChain>;
  /**
   * Goes on from what the store holds: a list of shards, or a snapshot, whose `unseen` and `forgetBefore` it takes. An
   * element that cannot be read (a reference is one) is left out and listed in `rejected`. A newest shard with other
   * parameters than the options' is sealed.
   */
  static from(stored: Snapshot | readonly string[], options?: ChainOptions): Promise<ShardChain>;
  readonly rejected: readonly { index: number; code: ErrorCode }[];
  /**
   * Inserts each id that the newest shard does not contain, and takes it off `unseen`; returns how many no live shard
   * contained. An id that is not usable is left out.
   */
  record(ids: ItemId | Iterable<ItemId>, options?: { now?: number }): number;
  /**
   * Takes in what a device reported, whenever that arrives: an impression from before `forgetBefore`, or from before
   * the id was taken back, changes nothing. `now`: when the report arrived at the server, by which its times are read.
   * Returns how many ids no live shard contained. Throws `bad-report` for what is no report.
   */
  take(report: Report, options?: { now?: number }): number;
  /**
   * Takes ids back, as `SeenGuard.unsee`: fresh here and in snapshots until they are recorded again. At most 1,000, the
   * newest; what no live shard contains is dropped.
   */
  unsee(ids: ItemId | Iterable<ItemId>, options?: { now?: number }): void;
  /** Deletes the history as of now, rounded up to a second: no shards, and `forgetBefore`. */
  forget(options?: { now?: number }): void;
  has(id: ItemId, options?: { now?: number }): boolean;
  /**
   * The items that no live shard contains or that were taken back, a duplicate id once; an item without a usable id is
   * kept.
   */
  filter<T extends Identified>(items: readonly T[], options?: { now?: number }): T[];
  filter<T>(items: readonly T[], options: { id: IdOf<T>; now?: number }): T[];
  /**
   * The fresh items as from `filter`, and the others once, those seen longest ago first: by the newest shard that
   * contains them. For a small pool, where old items are better than none.
   */
  split<T extends Identified>(items: readonly T[], options?: { now?: number }): { fresh: T[]; seen: T[] };
  split<T>(items: readonly T[], options: { id: IdOf<T>; now?: number }): { fresh: T[]; seen: T[] };
  /**
   * What to ship, and without `held` what to store. `held`: what the device sent of `SeenGuard.held()`; shards named
   * there become references; what is not understood is as if it were not there.
   */
  snapshot(options?: { now?: number; held?: string | null }): Snapshot & { shards: string[] };
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
