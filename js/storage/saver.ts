/** Saves: writes unsaved changes as rows, each under a new key; until a row is stored, the stash has its changes. */
import type { UnsavedRow } from "../engine/engine-guard.js";
import type { Due } from "../generated/client/seenguard.js";
import { isHidden, yielding } from "../platform/host.js";
import type { Compaction } from "./compaction.js";
import { isQuotaError, type StorageContext } from "./context.js";
import type { Retry } from "./retry.js";
import type { Snapshots } from "./snapshots.js";

/** The delay after which unsaved changes are written to the stash. */
const STASH_MS = 1_000;

type DueKind = keyof typeof Due;

export class Saver {
  readonly retry: Retry;
  /** The end of the queue of saves. */
  private lastQueued: Promise<unknown> = Promise.resolve();
  private next: Promise<void> | undefined;
  private willSave = false;
  private cancelStash: (() => void) | undefined;
  /** The mark of the last row that was written as the page hid; undefined: the page is visible. */
  private hiddenMark: number | undefined;

  constructor(
    private readonly context: StorageContext,
    private readonly compaction: Compaction,
    private readonly snapshots: Snapshots,
  ) {
    this.retry = context.retry(() => this.saveFacts());
  }

  /** Schedules a save for the end of the current task. */
  changed(): void {
    const { stash, timers } = this.context;
    this.cancelStash ??= stash && timers.after(STASH_MS, () => this.writeStash());
    if (this.willSave) return;
    this.willSave = true;
    queueMicrotask(() => {
      this.willSave = false;
      if (this.retry.mayRun()) void this.save();
    });
  }

  /** Saves, also if only facts about the namespace are unsaved. */
  saveFacts(): void {
    void this.save("Facts");
  }

  /** Resolves when everything recorded so far is stored, or storing it has failed. */
  async flush(): Promise<void> {
    await this.save("All");
    await this.snapshots.save();
  }

  private save(due?: DueKind): Promise<void> {
    if (this.next && due === undefined) return this.next;
    const saving = this.lastQueued.then(() => {
      this.next = undefined;
      return this.context.mayWrite() ? this.retry.attempt(() => this.saveAll(due)) : undefined;
    });
    this.lastQueued = this.next = saving;
    return saving;
  }

  private async saveAll(due: DueKind = "Changes"): Promise<void> {
    const { context } = this;
    const yieldIfLong = yielding(context.clock);
    while (await this.saveNextWithRoom(due)) await yieldIfLong();
    if (!context.mayWrite()) return;
    this.cancelStash?.();
    this.cancelStash = undefined;
    context.stash?.remove();
    if (context.engine) context.stash?.removeSaved(context.engine);
    this.compaction.runLater();
  }

  /** Writes rows that were made in this task. With an open connection the request is made before this returns. */
  private async put(rows: readonly UnsavedRow[]): Promise<void> {
    const { context } = this;
    const keyed = rows.map((row) => ({ ...row, key: context.newKey() }));
    const set = keyed.map(({ key, encoded }) => [key, encoded] as const);
    if (!(await context.write(context.generation, { set }))) return;
    for (const { key, mark, count } of keyed) {
      context.engine?.call((guard) => guard.saved(mark));
      context.rows.set(key, count);
    }
    context.writeSignal();
  }

  /** Writes one row of unsaved changes once the store is open. Resolves to whether there were any. */
  private async saveNext(due: DueKind): Promise<boolean> {
    const { context } = this;
    const opening = context.opening();
    if (opening) await opening;
    const row = context.mayWrite() ? context.engine?.unsaved(0, due) : undefined;
    if (row) await this.put([row]);
    return row !== undefined;
  }

  /** Writes one row like `saveNext`; if the storage is full, again after making room. */
  private async saveNextWithRoom(due: DueKind): Promise<boolean> {
    try {
      return await this.saveNext(due);
    } catch (cause) {
      if (!isQuotaError(cause) || isHidden()) throw cause;
      const makeRoom = () => this.snapshots.remove().then(() => this.compaction.run(true));
      // If making room fails, the row most likely fails again, and that is reported.
      await this.context.queue(() => makeRoom().catch(() => {}));
      return this.saveNext(due);
    }
  }

  writeStash(isLast = false): void {
    this.cancelStash?.();
    this.cancelStash = undefined;
    const { context } = this;
    context.readSignal();
    if (context.engine) context.stash?.write(context.engine, context.generation, context.clock.wallMs(), isLast);
  }

  /** The page hides, and may never run again. A later call writes only what has changed since. */
  hide(): void {
    const before = this.hiddenMark;
    this.hiddenMark ??= 0;
    const opening = this.context.opening();
    const writing = opening ? opening.then(() => this.writeNew()) : this.writeNew();
    if (opening || before === undefined || this.hiddenMark !== before) this.writeStash(true);
    const written = writing.then(
      (count) => (count > 0 ? this.changed() : undefined),
      (cause: unknown) => this.retry.failed(cause),
    );
    this.lastQueued = Promise.all([this.lastQueued, written, this.snapshots.save()]);
  }

  /** Writes unsaved changes, except those that were written since the page hid. Resolves to the number of rows. */
  private async writeNew(): Promise<number> {
    let after = this.hiddenMark ?? 0;
    const rows: UnsavedRow[] = [];
    for (let row; (row = this.context.engine?.unsaved(after, "All")); after = row.mark) rows.push(row);
    // If the page was shown meanwhile, the next `hide` starts over.
    if (this.hiddenMark !== undefined) this.hiddenMark = after;
    if (rows.length > 0) await this.put(rows);
    return rows.length;
  }

  show(): void {
    this.hiddenMark = undefined;
    this.changed();
  }
}
