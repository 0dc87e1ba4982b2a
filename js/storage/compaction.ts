/**
 * Compaction: several segments become one that stands for them. The union is written first, then exactly the keys that
 * were read are removed: in that order no interleaving of writers loses anything, and nobody needs a lock.
 */
import type { SegmentLog, StoredSegment } from "./segment-log.js";
import type { Compactor } from "./segment.js";

/** A compaction waits for a random time up to this, so that of several tabs one does it. */
const MAX_WAIT_MS = 1_000;
/** So many segments of one size become one of the next … */
const GROUP = 4;
/** … or so many, if they are large. */
const LARGE_GROUP = 2;
/** Together they hold at least this part of all that is remembered: large. */
const LARGE_SHARE = 4;
/** An `open` that finds less than this (characters) in fewer than `MANY_SEGMENTS` leaves it as it is. */
const LITTLE = 16_384;
const MANY_SEGMENTS = 16;

/** How many segments of a level are compacted. */
function groupSize(level: number, remember: number): number {
  return GROUP ** level >= remember / LARGE_SHARE ? LARGE_GROUP : GROUP;
}

/** Compacts the segments of a level, then those of the levels above as far as that makes enough of them. */
async function compactLevels(log: SegmentLog, compactor: Compactor, level: number, remember: number): Promise<void> {
  for (let at: number | undefined = level; at !== undefined;) {
    const group = await log.readKnown(at);
    if (!group || group.length < groupSize(at, remember)) return;
    at = await replace(log, compactor, group, at + 1);
  }
}

/**
 * Whether what an `open` has found is worth compacting: much of it is told twice if all but the largest segment
 * together are half as large as that one.
 */
export function isWasteful(segments: readonly StoredSegment[]): boolean {
  const sizes = segments.map(({ text }) => text.length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const largest = sizes.reduce((a, b) => Math.max(a, b), 0);
  return segments.length >= MANY_SEGMENTS || (total >= LITTLE && total - largest >= largest / 2);
}

/** Compacts all segments into one. */
export async function compactAll(log: SegmentLog, compactor: Compactor): Promise<void> {
  const segments = await log.readKnown();
  if (segments && isWasteful(segments)) await replace(log, compactor, segments, 0);
}

/** Writes one segment in the place of several. Returns its level; `undefined` if it was not written. */
export async function replace(
  log: SegmentLog,
  compactor: Compactor,
  segments: readonly StoredSegment[],
  leastLevel: number,
): Promise<number | undefined> {
  const union = compactor.compact(segments.map(({ text }) => text));
  if (!union) return undefined;
  const level = Math.max(leastLevel, union.level);
  if (!(await log.write({ text: union.text, level }))) return undefined;
  await log.remove(segments.map(({ key }) => key));
  return level;
}

/** When a writer compacts. */
export class CompactionSchedule {
  private readonly run: (compact: () => Promise<void>) => void;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isStopped = false;

  /** `run`: runs a compaction among the writer's other work. */
  constructor(run: (compact: () => Promise<void>) => void) {
    this.run = run;
  }

  /** This writer has just written a segment of this level. */
  async afterWrite(log: SegmentLog, compactor: Compactor, level: number, remember: number): Promise<void> {
    const [count, enough] = [log.countOf(level), groupSize(level, remember)];
    const compact = () => compactLevels(log, compactor, level, remember);
    // Who writes so fast that the timer never comes does not wait for it.
    if (count >= 2 * enough) await compact();
    else if (count >= enough) this.schedule(compact);
  }

  schedule(compact: () => Promise<void>): void {
    if (this.isStopped) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.run(compact);
    }, Math.random() * MAX_WAIT_MS);
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer !== undefined) clearTimeout(this.timer);
  }
}
