/** What the storage has of the engine: the impression table as segments, and the snapshot in use. */

/** A segment's text, and its size class. */
export interface Segment {
  readonly text: string;
  readonly level: number;
}

/** How much of a stored text could be read: all of it, a part, or nothing because a newer version wrote it. */
export const WHOLE = 0;
export const DAMAGED = 1;
export const NEWER = 2;
export type SegmentState = typeof WHOLE | typeof DAMAGED | typeof NEWER;

/** A snapshot as it is stored: each shard by its reference, without the `~`, and what else belongs to it. */
export interface StoredSnapshot {
  readonly index: string;
  readonly shards: readonly { readonly reference: string; readonly text: string }[];
}

/** Makes one segment of several. */
export interface Compactor {
  compact(segments: readonly string[]): Segment | undefined;
}

/** The impression table, and the snapshot in use. */
export interface Table extends Compactor {
  load(segments: readonly string[]): readonly SegmentState[];
  /**
   * Takes over a stored snapshot, unless one was applied on this visit. `texts`: those of its shards that were found, by
   * reference; the others are not held.
   */
  loadSnapshot(index: string, texts: ReadonlyMap<string, string>): SegmentState;
  finishLoading(): void;
  merge(segments: readonly string[]): readonly SegmentState[];
  takeUnsaved(everything: boolean): Segment | undefined;
  /** `undefined`: none is in use, or it is too large to be kept. */
  storedSnapshot(): StoredSnapshot | undefined;
  clearBefore(clearedAtMs: number): void;
}
