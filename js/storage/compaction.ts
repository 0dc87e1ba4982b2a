/** Compaction: replaces small rows by few, and removes damaged rows and those of older generations. */
import { isHidden } from "../platform/host.js";
import type { StorageContext } from "./context.js";
import type { Retry } from "./retry.js";
import { areOutdated, areSmall, DAMAGED, smallestRows, totalOf } from "./tiers.js";

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
    const all = texts.filter((text) => text !== "").join("\n");
    const rewritten = all === "" ? "" : engine.call((guard) => guard.rewrite(context.encoder.encode(all)));
    // Whatever was read, some row stays.
    if (rewritten === undefined || (rewritten === "" && chosen.length > 0)) return;
    const counts = engine.call((guard) => guard.numbers()) ?? [];
    const made = rewritten === "" ? [] : rewritten.split("\n");
    const set = made.map((text) => [context.newKey(), text] as const);
    if (!(await context.write(generation, { remove, set }))) return;
    for (const key of remove) rows.delete(key);
    for (const [index, [key]] of set.entries()) rows.set(key, counts[index] ?? 0);
    context.older = context.older.filter((key) => !remove.includes(key));
    if (chosen.length > 0) this.compactedTotal = totalOf(rows);
  }
}
