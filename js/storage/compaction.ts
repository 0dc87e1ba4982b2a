/**
 * Compaction: replaces small rows by few, and removes damaged rows and those of older generations. It is size-tiered, so
 * that each recording is rewritten a few times only.
 */
import { isHidden } from "../platform/host.js";
import { DAMAGED, type StorageContext } from "./context.js";
import type { Retry } from "./retry.js";

/** The most recordings of a row, and the most rows with fewer that stay. */
const FULL_ROW = 1_000;
const MAX_SMALL_ROWS = 12;
const LEAST_ROWS = 8;
const MAX_RECORDINGS = 8_000;

export class Compaction {
  readonly retry: Retry;
  /** The recordings of all rows after the latest compaction. */
  private compactedTotal = 0;

  constructor(private readonly context: StorageContext) {
    this.retry = context.retry(() => this.runLater());
  }

  /** Runs after the loads in progress if there is something to do. */
  runLater(): void {
    if (!this.context.hasLoaded || isHidden() || !(this.garbage().length > 0 || this.areMany())) return;
    if (this.retry.mayRun()) void this.context.queue(() => this.retry.attempt(() => this.run(false)));
  }

  /** Damaged rows, and those of older generations. Some sound row stays, whose key tells others the generation. */
  private garbage(): string[] {
    const { rows, older } = this.context;
    const damaged = [...rows].filter(([, count]) => count === DAMAGED).map(([key]) => key);
    return rows.size > damaged.length ? [...damaged, ...older] : [];
  }

  private areMany(): boolean {
    const { rows, engine } = this.context;
    const recordings = () => engine?.count("Recordings") ?? Infinity;
    // What the latest compaction could not make fewer is left alone.
    const hasGrown = totalOf(rows) > 1.1 * this.compactedTotal;
    return areSmall(rows) || (hasGrown && areOutdated(rows, recordings));
  }

  /** `isForced`: the storage is full. */
  async run(isForced: boolean): Promise<void> {
    const { context } = this;
    const { generation, engine, rows, store } = context;
    const mayGoOn = () => context.isCurrent(generation) && !isHidden();
    if (!engine || !mayGoOn()) return;
    const chosen = isForced || this.areMany() ? smallestRows(rows) : [];
    const remove = [...chosen, ...this.garbage()];
    if (remove.length === 0) return;
    const texts = chosen.length > 0 ? await context.call(store.getMany(chosen)) : [];
    // If another tab has compacted, the next load says what there is.
    if (!mayGoOn() || texts.includes(undefined)) return;
    // The empty row of a clear says nothing.
    const rewritten = engine.rewrite(texts.filter((text): text is string => !!text));
    const made = rewritten?.map((row) => ({ ...row, key: context.newKey() }));
    // Whatever was read, some row stays.
    if (!made || (made.length === 0 && chosen.length > 0)) return;
    const set = made.map(({ key, text }) => [key, text] as const);
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
function areSmall(rows: Rows): boolean {
  let small = 0;
  for (const count of rows.values()) if (count >= 0 && count < FULL_ROW) small++;
  return small > MAX_SMALL_ROWS;
}

/** Whether many recordings of rows are outdated. `recordings`: how many the table has. */
function areOutdated(rows: Rows, recordings: () => number): boolean {
  const total = totalOf(rows);
  return total > FULL_ROW && total > 2 * recordings() + FULL_ROW;
}

/** The smallest rows: some, and then each that has at most as many recordings as those before it together. */
function smallestRows(rows: Rows): string[] {
  const sorted = [...rows].filter(([, count]) => count !== DAMAGED).sort(([, one], [, other]) => one - other);
  const chosen: string[] = [];
  let sum = 0;
  for (const [key, count] of sorted) {
    if (sum + count > MAX_RECORDINGS || (chosen.length >= LEAST_ROWS && count > sum)) break;
    chosen.push(key);
    sum += count;
  }
  return chosen.length > 1 ? chosen : [];
}
