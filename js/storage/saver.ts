/** Saves: writes what is unsaved as rows, each under a new key, and until that is done into the stash. */
import type { Due } from "../generated/client/seenguard.js";
import { isHidden, yielding } from "../platform/host.js";
import type { Compaction } from "./compaction.js";
import { isQuotaError, type StorageContext } from "./context.js";
import type { Retry } from "./retry.js";
import type { Snapshots } from "./snapshots.js";

/** The delay after which unsaved changes go into the stash. */
const STASH_MS = 1_000;

/** A row that is to be saved. */
interface Row {
  readonly generation: number;
  readonly text: string;
  readonly mark: number;
  readonly count: number;
}

export class Saver {
  readonly retry: Retry;
  /** Saves have a chain of their own. */
  private saving: Promise<unknown> = Promise.resolve();
  private next: Promise<void> | undefined;
  private willSave = false;
  private cancelStash: (() => void) | undefined;
  /** The latest mark of what was saved as the page hid; undefined: it is visible. */
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

  /** The same, also if the store lacks only facts about the namespace. */
  saveFacts(): void {
    void this.save(this.context.engine?.classes.Due.Facts);
  }

  /** Resolves when everything recorded so far is stored, or storing it has failed. */
  async flush(): Promise<void> {
    await this.save(this.context.engine?.classes.Due.All);
    await this.snapshots.save();
  }

  private save(due?: Due): Promise<void> {
    if (this.next && due === undefined) return this.next;
    const saving = this.saving.then(() => {
      this.next = undefined;
      return this.context.mayWrite() ? this.retry.attempt(() => this.saveAll(due)) : undefined;
    });
    this.saving = this.next = saving;
    return saving;
  }

  private async saveAll(due: Due = 0): Promise<void> {
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

  private unsaved(after: number, due: Due): Row | undefined {
    const { generation, engine } = this.context;
    return engine?.call((guard, wallMs) => {
      const text = guard.unsaved(after, due, wallMs);
      if (text === undefined) return undefined;
      const [mark = 0, count = 0] = guard.numbers();
      return { generation, text, mark, count };
    });
  }

  /** Writes a row. With an open connection the request is made before this returns. */
  private async put({ generation, text, mark, count }: Row): Promise<void> {
    const { context } = this;
    const key = context.newKey();
    if (!(await context.write(generation, { set: [[key, text]] }))) return;
    context.engine?.call((guard) => guard.saved(mark));
    context.rows.set(key, count);
    context.writeSignal();
  }

  /** Writes a row of what is unsaved when the store is open. Returns whether there was anything. */
  private async saveNext(due: Due): Promise<boolean> {
    const { context } = this;
    const opening = context.opening();
    if (opening) await opening;
    const row = context.mayWrite() ? this.unsaved(0, due) : undefined;
    if (row) await this.put(row);
    return row !== undefined;
  }

  /** The same; in a full storage again, when there is room. */
  private async saveNextWithRoom(due: Due): Promise<boolean> {
    try {
      return await this.saveNext(due);
    } catch (cause) {
      if (!isQuotaError(cause) || isHidden()) throw cause;
      const makeRoom = () => this.snapshots.remove().then(() => this.compaction.run(true));
      // If that fails, too, there is room or the row fails again.
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

  /** The page hides, and may never run again. A second event writes only what is new. */
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
    this.saving = Promise.all([this.saving, written, this.snapshots.save()]);
  }

  /** Writes what is unsaved and was not written since the page hid. Resolves to the number of rows. */
  private async writeNew(): Promise<number> {
    const { engine } = this.context;
    let after = this.hiddenMark ?? 0;
    const writes: Promise<void>[] = [];
    for (let row; engine && (row = this.unsaved(after, engine.classes.Due.All)); after = row.mark)
      writes.push(this.put(row));
    // Shown meanwhile, it starts again as it hides.
    if (this.hiddenMark !== undefined) this.hiddenMark = after;
    await Promise.all(writes);
    return writes.length;
  }

  show(): void {
    this.hiddenMark = undefined;
    this.changed();
  }
}
