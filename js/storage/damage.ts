/** Damaged segments: a part is set aside once for whoever wants to look at it, and what can be read of them is kept. */
import { replace, type Compactor } from "./compaction.js";
import { SET_ASIDE } from "./keys.js";
import type { SegmentLog, StoredSegment } from "./segment-log.js";

/** So many damaged segments are set aside … */
const MOST_SET_ASIDE = 4;
/** … so much of each (characters). */
const SET_ASIDE_CHARS = 16_384;

/** Sets damaged segments aside, and writes what can be read of them in their place. */
export async function repair(log: SegmentLog, compactor: Compactor, damaged: readonly StoredSegment[]): Promise<void> {
  const present = (await log.store.keys(log.prefix + SET_ASIDE)).length;
  for (const [index, { text }] of damaged.slice(0, Math.max(0, MOST_SET_ASIDE - present)).entries()) {
    await log.store.write(`${log.prefix}${SET_ASIDE}${present + index}`, text.slice(0, SET_ASIDE_CHARS));
  }
  await replace(log, compactor, damaged, 0);
}
