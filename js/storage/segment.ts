/** Segments of the impression table as the engine writes and reads them. */

/** A segment's text, and its size class. */
export interface Segment {
  readonly text: string;
  readonly level: number;
}

/** How much of a segment could be read: all of it, a part, or nothing because a newer version wrote it. */
export const WHOLE = 0;
export const DAMAGED = 1;
export const NEWER = 2;
export type SegmentState = typeof WHOLE | typeof DAMAGED | typeof NEWER;
