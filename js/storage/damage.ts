/** Damaged segments: a part is set aside once for whoever wants to look at it, and what can be read of them is kept. */
import { SeenGuardError, type ErrorListener } from "../errors.js";
import { replace } from "./compaction.js";
import { SET_ASIDE } from "./keys.js";
import type { SegmentLog, StoredSegment } from "./segment-log.js";
import { DAMAGED, NEWER, type Compactor, type SegmentState } from "./segment.js";

/** So many damaged segments are set aside … */
const MOST_SET_ASIDE = 4;
/** … so much of each (characters). */
const SET_ASIDE_CHARS = 16_384;

/** Gives segments to the table by `read`, and reports those that it cannot read. Returns those that are damaged. */
export function readSegments(
  log: SegmentLog,
  segments: readonly StoredSegment[],
  read: (texts: readonly string[]) => readonly SegmentState[],
  report: ErrorListener,
): StoredSegment[] {
  // The engine's functions are compiled when they are first called: a page that finds nothing does without.
  if (segments.length === 0) return [];
  const states = read(segments.map(({ text }) => text));
  const thoseOf = (state: SegmentState) => segments.filter((_, index) => states[index] === state);
  const [damaged, newer] = [thoseOf(DAMAGED), thoseOf(NEWER)];
  for (const segment of [...damaged, ...newer]) log.setUnreadable(segment);
  const reportStorage = (message: string) => report(new SeenGuardError("storage", message));
  if (damaged.length > 0) reportStorage("stored impressions are damaged and set aside; what can be read is kept");
  if (newer.length > 0) reportStorage("stored impressions of a newer version are left alone");
  return damaged;
}

/** Sets damaged segments aside, and writes what can be read of them in their place. */
export async function repair(log: SegmentLog, compactor: Compactor, damaged: readonly StoredSegment[]): Promise<void> {
  const present = (await log.store.keys(log.prefix + SET_ASIDE)).length;
  for (const [index, { text }] of damaged.slice(0, Math.max(0, MOST_SET_ASIDE - present)).entries()) {
    await log.store.write({ [`${log.prefix}${SET_ASIDE}${present + index}`]: text.slice(0, SET_ASIDE_CHARS) });
  }
  await replace(log, compactor, damaged, 0);
}
