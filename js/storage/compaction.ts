/**
 * Compaction: replaces small rows by few, and removes damaged rows and those of older generations. It is size-tiered, so
 * that each recording is rewritten a few times only.
 */
import { isHidden } from "../platform/host.js";
import { DAMAGED, type StorageContext } from "./context.js";
import type { Retry } from "./retry.js";

/** A row with fewer recordings is small. */
const FULL_ROW = 1_000;
/** The most small rows that need no compaction. */
const MAX_SMALL_ROWS = 12;
/** A compaction rewrites at least this many rows, and at most this many recordings. */
const MIN_ROWS = 8;
const MAX_RECORDINGS = 8_000;

export class Compaction {
  readonly retry: Retry;
  /** The number of recordings in all rows after the latest compaction. */
  private compactedTotal = 0;

  constructor(private readonly context: StorageContext) {
    this.retry = context.retry(() => this.runLater());
  }

  /** Runs after the loads in progress if there is something to do. */
  runLater(): void {
    if (!this.context.hasLoaded || isHidden() || !(this.garbage().length > 0 || this.isDue())) return;
    if (this.retry.mayRun()) void this.context.queue(() => this.retry.attempt(() => this.run(false)));
  }

  /** Damaged rows, and those of older generations; none unless an intact row stays, whose key has the generation. */
  private garbage(): string[] {
    const { rows, older } = this.context;
    const damaged = [...rows].filter(([, count]) => count === DAMAGED).map(([key]) => key);
    return rows.size > damaged.length ? [...damaged, ...older] : [];
  }

  /** Whether small rows or outdated recordings are too many. */
  private isDue(): boolean {
    const { rows, engine } = this.context;
    const recordings = () => engine?.count("Recordings") ?? Infinity;
    // What the latest compaction could not remove is not a reason for another.
    const hasGrown = totalOf(rows) > 1.1 * this.compactedTotal;
    return areManySmall(rows) || (hasGrown && areManyOutdated(rows, recordings));
  }

  /** `isForced`: the storage is full. */
  async run(isForced: boolean): Promise<void> {
    const { context } = this;
    const { generation, engine, rows, store } = context;
    const mayContinue = () => context.isCurrent(generation) && !isHidden();
    if (!engine || !mayContinue()) return;
    const chosen = isForced || this.isDue() ? smallestRows(rows) : [];
    const remove = [...chosen, ...this.garbage()];
    if (remove.length === 0) return;
    const values = chosen.length > 0 ? await context.call(store.getMany(chosen)) : [];
    // If another tab has compacted, the next load lists its rows.
    if (!mayContinue() || values.includes(undefined)) return;
    // A clear has left an empty row.
    const rewritten = engine.rewrite(values.filter((value): value is string => !!value));
    const made = rewritten?.map((row) => ({ ...row, key: context.newKey() }));
    // Rows are removed only if others replace them.
    if (!made || (made.length === 0 && chosen.length > 0)) return;
    const set = made.map(({ key, encoded }) => [key, encoded] as const);
    if (!(await context.write(generation, { remove, set }))) return;
    for (const key of remove) rows.delete(key);
    for (const { key, count } of made) rows.set(key, count);
    context.older = context.older.filter((key) => !remove.includes(key));
    if (chosen.length > 0) this.compactedTotal = totalOf(rows);
  }
}

/** The number of recordings of each row, by its key, in the order in which they became known. */
type Rows = ReadonlyMap<string, number>;

function totalOf(rows: Rows): number {
  let total = 0;
  for (const count of rows.values()) total += Math.max(count, 0);
  return total;
}

/** Whether many rows are small. */
function areManySmall(rows: Rows): boolean {
  let small = 0;
  for (const count of rows.values()) if (count >= 0 && count < FULL_ROW) small++;
  return small > MAX_SMALL_ROWS;
}

/** Whether many recordings in rows are outdated. `recordings`: returns how many the table has. */
function areManyOutdated(rows: Rows, recordings: () => number): boolean {
  const total = totalOf(rows);
  return total > FULL_ROW && total > 2 * recordings() + FULL_ROW;
}

/** The keys of the smallest rows: `MIN_ROWS`, then each with at most as many recordings as those before it together. */
function smallestRows(rows: Rows): string[] {
  const sorted = [...rows].filter(([, count]) => count !== DAMAGED).sort(([, one], [, other]) => one - other);
  const chosen: string[] = [];
  let sum = 0;
  for (const [key, count] of sorted) {
    if (sum + count > MAX_RECORDINGS || (chosen.length >= MIN_ROWS && count > sum)) break;
    chosen.push(key);
    sum += count;
  }
  return chosen.length > 1 ? chosen : [];
}
