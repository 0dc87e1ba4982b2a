/**
 * Keeps a namespace's impressions across visits and shows them to other tabs.
 *
 * Stored: a writer (one `open`) writes what has changed as a new segment under a key of its own and never rewrites one.
 * `open` reads all segments; a signal from another tab makes this one read what is new. A writer that has just written
 * a segment and finds enough of its size compacts them into one. Copies of the impression table merge in any order, so
 * nothing depends on who reads or compacts what, or how often. What a segment holds is the engine's business. So is the
 * stored snapshot, of which the one that was written last is in force; it comes after the impressions.
 *
 * Cleared: a clear begins a new generation, and segments of older ones are void. Each write looks at the generation.
 * Whoever learns of a newer one forgets what was recorded before it, keeps what was recorded since, and writes that
 * anew. A clear of this document empties the table at the call; from then on nothing that was read before counts, and
 * nothing is written before the new generation is noted, which is tried again if the storage fails.
 *
 * All of this is done one after the other in one queue. No promise of it rejects unless it says so; a storage that
 * never answers stops the queue, and whoever waits for it has a timeout.
 */
import type { Clock } from "../clock.js";
import { SeenGuardError } from "../errors.js";
import { isHidden, listen } from "../page.js";
import type { GuardStats } from "../types/seenguard.js";
import { compactAll, CompactionSchedule, isWasteful } from "./compaction.js";
import { onSignal, sendSignal } from "./cross-tab-signal.js";
import { readSegments, repair } from "./damage.js";
import { clearNamespace } from "./generation.js";
import { isQuotaError, StorageHealth } from "./health.js";
import { HeldShards } from "./held-shards.js";
import { removeIdle, UseNote } from "./idle.js";
import { prefixOf, signalKey } from "./keys.js";
import { SegmentLog } from "./segment-log.js";
import { DAMAGED, type Compactor, type Segment, type Table } from "./segment.js";
import { openStore, type Place } from "./store.js";

/** How often a write that finds a new generation begins anew. */
const GENERATIONS_A_WRITE = 8;

/** Whose impressions are kept. */
interface Owner {
  readonly options: { readonly namespace: string; readonly windowDays: number; readonly remember: number };
  readonly clock: Clock;
  report(error: SeenGuardError): void;
}

export class Persistence {
  private readonly places: readonly Place[];
  private readonly owner: Owner;
  private readonly signal: string;
  private readonly openedAtMs: number;
  private isStopped = false;
  private stopListening: (() => void)[] = [];
  private table: Table | undefined;
  private log: SegmentLog | undefined;
  /** What the store held when it was opened, until something may have changed. */
  private listed: readonly string[] | undefined;
  private queue: Promise<unknown>;

  private isLoaded = false;
  /** A clear of this document that the storage does not know of yet. */
  private owedClear: number | undefined;
  /** Clears of this document whose turn has not come: until then nothing is written. */
  private startedClears = 0;
  private lastClearMs = 0;
  /** What is being written, or could not be, in order. */
  private unwritten: readonly Segment[] = [];
  private readonly heldShards = new HeldShards();
  private isFlushing = false;
  private isMerging = false;
  private readonly compactions: CompactionSchedule;
  private readonly useNote: UseNote;
  private readonly health: StorageHealth;

  constructor(places: readonly Place[], owner: Owner) {
    this.places = places;
    this.owner = owner;
    this.openedAtMs = owner.clock.wallMs();
    this.signal = signalKey(owner.options.namespace);
    this.useNote = new UseNote(owner.options.windowDays);
    this.health = new StorageHealth(this.report, () => void this.flush());
    this.compactions = new CompactionSchedule(this.compactLater);
    this.queue = this.open();
  }

  private readonly report = (error: SeenGuardError): void => this.owner.report(error);

  private async open(): Promise<void> {
    const { store, keys, errors } = await openStore(this.places);
    for (const error of errors) this.report(error);
    if (!store) return;
    this.log = new SegmentLog(store, prefixOf(this.owner.options.namespace));
    this.listed = keys;
  }

  /** Where impressions are kept, or what is wrong with it. */
  get storage(): GuardStats["storage"] {
    if (this.places.length === 0) return "none";
    return this.health.trouble ?? this.log?.store.kind ?? "unavailable";
  }

  /** When the namespace was last cleared, as far as is known, Unix ms; 0: never. */
  get clearedAtMs(): number {
    return Math.max(this.lastClearMs, this.log?.generation.clearedAtMs ?? 0);
  }

  /** Whether impressions are kept in this place. */
  isKeptIn(place: Place): boolean {
    return this.places[0] === place || this.log?.store.kind === place;
  }

  /** Takes over what is stored, once `cleared` has settled: earlier clearings of this namespace in this document. */
  load(table: Table, cleared: Promise<unknown> | undefined): Promise<void> {
    this.table = table;
    return this.enqueue(async () => {
      if (cleared) {
        await Promise.allSettled([cleared]);
        this.listed = undefined;
      }
      if (this.log) await this.readStored(this.log);
      else table.finishLoading();
    });
  }

  /** Starts what can wait until what is loaded has been of use: writing, listening to other tabs, idle cleanup. */
  startBackgroundWork(): void {
    if (!this.log || this.isStopped) return;
    this.changed();
    this.listen(this.log);
    void this.cleanUpIdle(this.log).catch(this.health.onFailure);
  }

  /** Something was recorded: writes it as soon as the present task ends. */
  changed(): void {
    if (this.isFlushing) return;
    this.isFlushing = true;
    // The first write of a turn begins at once, so that localStorage has it when the task ends.
    queueMicrotask(() => void this.writeSoon());
  }

  /** Another snapshot is in use: writes it as soon as the present task ends. */
  snapshotChanged(): void {
    this.heldShards.changed();
    this.changed();
  }

  /**
   * Resolves when all that was recorded so far is in storage, or could not be written. If another document has cleared
   * a storage that sends no signals, this writer learns of it here or with its next write.
   */
  flush(): Promise<void> {
    const written = this.writeSoon();
    if (this.isShared) return written;
    return this.enqueue(async () => {
      if (this.log && this.isLoaded && this.startedClears === 0 && (await this.learnGeneration(this.log)))
        await this.write();
    });
  }

  private writeSoon(): Promise<void> {
    this.isFlushing = true;
    return this.enqueue(() => {
      this.isFlushing = false;
      return this.write();
    });
  }

  /**
   * Clears the storage once `others` has settled: clearing other storages, one of which may be this very one by another
   * name. The table is empty already. Rejects if either fails; this one is tried again with the next write.
   */
  async clear(clearedAtMs: number, others: Promise<void>): Promise<void> {
    this.startedClears++;
    this.owedClear = this.lastClearMs = clearedAtMs;
    this.unwritten = [];
    this.heldShards.skip();
    this.log?.invalidate();
    const othersSettled = Promise.allSettled([others]);
    const clearing = this.queue.then(async () => {
      await othersSettled;
      this.startedClears--;
      this.owedClear ??= clearedAtMs;
      await this.clearStorage();
      this.tellOthers();
    });
    await this.enqueue(() => clearing);
    this.changed();
    await clearing;
    await others;
  }

  /** Somebody has waited in vain. */
  timedOut(): void {
    this.health.onTimeout();
  }

  /** Stops listening, retrying, reading and compacting. What is being written or cleared goes on. */
  stop(): void {
    this.isStopped = true;
    for (const stop of this.stopListening) stop();
    this.health.stop();
    this.compactions.stop();
  }

  /** One thing after the other: the writes of a writer keep their order whatever the storage does. */
  private enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.queue.then(work).catch(this.health.onFailure);
    this.queue = done;
    return done;
  }

  private async clearStorage(): Promise<void> {
    const { log, owedClear } = this;
    if (!log || owedClear === undefined) return;
    const generation = await clearNamespace(log.store, log.prefix, owedClear, log.generation);
    // Another clear may have been called meanwhile: its turn comes.
    if (this.owedClear === owedClear) this.owedClear = undefined;
    this.listed = undefined;
    log.begin(generation);
    // Another document has cleared the namespace since.
    if (generation.clearedAtMs > this.lastClearMs) this.table?.clearBefore(generation.clearedAtMs);
    this.health.onSuccess();
  }

  private async readStored(log: SegmentLog): Promise<void> {
    const { table, listed } = this;
    this.listed = undefined;
    if (!table || this.isStopped) return;
    const found = await log.readNew(listed, true);
    // A clear was called meanwhile, which is done before the next write.
    if (!found || this.owedClear !== undefined) return;
    const clearedAtMs = found.begun?.clearedAtMs ?? 0;
    if (clearedAtMs > Math.max(this.openedAtMs, this.lastClearMs)) table.clearBefore(clearedAtMs);
    const damaged = readSegments(log, found.segments, (texts) => table.load(texts), this.report);
    if (this.heldShards.load(log, table, found.texts) === DAMAGED) {
      this.report(new SeenGuardError("storage", "the stored snapshot is damaged and removed"));
      this.snapshotChanged();
    }
    table.finishLoading();
    this.isLoaded = true;
    this.health.onSuccess();
    const compactor = this.compactorOf(table);
    if (damaged.length > 0) void this.enqueue(() => repair(log, compactor, damaged));
    if (found.outdated.length > 0) void this.enqueue(() => log.remove(found.outdated));
    if (found.segments.length > 0) void this.enqueue(async () => log.store.writeStashed?.(log.prefix));
    if (isWasteful(found.segments)) this.compactions.schedule(() => compactAll(log, compactor));
  }

  /** Reads what other tabs have written since. */
  private async mergeNew(log: SegmentLog): Promise<void> {
    const { table } = this;
    if (!this.isLoaded) return this.readStored(log);
    if (!table || this.isStopped) return;
    const found = await log.readNew();
    if (!found || this.owedClear !== undefined) return;
    if (found.begun) this.forgetBefore(found.begun.clearedAtMs);
    readSegments(log, found.segments, (texts) => table.merge(texts), this.report);
    if (found.begun) this.changed();
  }

  /** Looks at the generation. Returns whether it is a new one. */
  private async learnGeneration(log: SegmentLog): Promise<boolean> {
    const begun = await log.checkGeneration();
    if (!begun || this.owedClear !== undefined) return false;
    this.forgetBefore(begun.clearedAtMs);
    return true;
  }

  /** Another document has cleared the namespace. */
  private forgetBefore(clearedAtMs: number): void {
    this.unwritten = [];
    this.heldShards.skip();
    // What is here was recorded after a later clear of this document: it is only to be written anew.
    this.table?.clearBefore(clearedAtMs > this.lastClearMs ? clearedAtMs : 0);
  }

  /** Writes what is new, as far as the storage takes it. */
  private async write(): Promise<void> {
    const { log, table } = this;
    if (!log || !table || this.startedClears > 0) return;
    if (this.owedClear !== undefined) await this.clearStorage();
    // Without having read the generation, what is written might be void.
    if (!this.isLoaded) await this.readStored(log);
    let level: number | undefined;
    await this.writeEach(log, async () => {
      const segment = this.takeUnwritten(table);
      if (!segment) return null;
      const isWritten = await this.writeSegment(log, segment);
      if (isWritten) {
        this.unwritten = this.unwritten.filter((other) => other !== segment);
        level = Math.max(level ?? 0, segment.level);
        if (this.heldShards.isWritten) this.health.onSuccess();
      }
      return isWritten;
    });
    if (level !== undefined) {
      this.tellOthers();
      await this.compactions.afterWrite(log, this.compactorOf(table), level, this.owner.options.remember);
      await this.useNote.write(log);
    }
    await this.writeEach(log, () => this.writeSnapshot(log, table));
  }

  /** Writes until `writeNext`, which answers as `SegmentLog.writeTexts`, returns `null`: there is no more. */
  private async writeEach(log: SegmentLog, writeNext: () => Promise<boolean | null | undefined>): Promise<void> {
    for (let attempt = 0; this.isLoaded && this.owedClear === undefined; attempt++) {
      const isWritten = await writeNext();
      if (isWritten === null) return;
      if (isWritten) attempt = 0;
      else if (attempt === GENERATIONS_A_WRITE) throw new Error("the generation changes all the time");
      else if (isWritten === false) await this.learnGeneration(log);
    }
  }

  /** Writes a segment; if there is no room for it, in that of the stored snapshot, which the server can send again. */
  private async writeSegment(log: SegmentLog, segment: Segment): Promise<boolean | undefined> {
    try {
      return await log.write(segment);
    } catch (cause) {
      if (!isQuotaError(cause) || !(await this.heldShards.removeAll(log))) throw cause;
      return log.write(segment);
    }
  }

  private async writeSnapshot(log: SegmentLog, table: Table): Promise<boolean | null | undefined> {
    if (this.heldShards.isWritten) return null;
    const snapshot = table.storedSnapshot();
    // Where the engine is gone there is none, either.
    if (this.isStopped) return null;
    const isWritten = await this.heldShards.write(log, snapshot);
    if (isWritten) this.health.onSuccess();
    return isWritten;
  }

  /** The table as long as what was read for it still counts: compacting merges it. */
  private compactorOf(table: Table): Compactor {
    return { compact: (segments) => (this.owedClear === undefined ? table.compact(segments) : undefined) };
  }

  /** Compacts in the queue, unless somebody else has done it since. */
  private readonly compactLater = (compact: () => Promise<void>): void => {
    void this.enqueue(async () => {
      if (!this.log || this.isStopped || this.owedClear !== undefined) return;
      await this.mergeNew(this.log);
      await compact();
    });
  };

  private takeUnwritten(table: Table, everything = false): Segment | undefined {
    const unsaved = this.unwritten.length === 0 || everything ? table.takeUnsaved(everything) : undefined;
    if (unsaved) this.unwritten = [...this.unwritten, unsaved];
    return this.unwritten[0];
  }

  /** The page hides, and may never run again: what is not yet in storage is given to it at once. */
  private handOver(log: SegmentLog): void {
    // Without knowing the generation, what is written might be void.
    if (!this.table || !this.isLoaded || this.owedClear !== undefined) return;
    this.takeUnwritten(this.table, true);
    for (const segment of this.unwritten) {
      const onWritten = () => {
        this.unwritten = this.unwritten.filter((other) => other !== segment);
        this.tellOthers();
      };
      void log.writeLast(segment).then(onWritten, this.health.onFailure);
    }
  }

  private async cleanUpIdle(log: SegmentLog): Promise<void> {
    await this.useNote.write(log);
    await removeIdle(log.store, log.prefix, this.owner.options.windowDays);
  }

  private tellOthers(): void {
    if (this.isShared) sendSignal(this.signal);
  }

  /** Whether other tabs share the storage, and localStorage events come from it. */
  private get isShared(): boolean {
    return this.log !== undefined && this.log.store.kind !== "custom";
  }

  private listen(log: SegmentLog): void {
    const merge = () => {
      if (this.isMerging) return;
      this.isMerging = true;
      void this.enqueue(() => {
        this.isMerging = false;
        return this.mergeNew(log);
      });
    };
    const onPageEvent = ({ type }: Event) => {
      if (type === "pagehide" || isHidden()) this.handOver(log);
      // A page that was frozen or in the back/forward cache heard nothing.
      else if (this.isShared) merge();
    };
    this.stopListening.push(listen(["pagehide", "pageshow", "visibilitychange"], onPageEvent));
    if (!this.isShared) return;
    this.stopListening.push(onSignal(this.signal, merge));
    // What was written since the loading sent no signal that was heard.
    merge();
  }
}
