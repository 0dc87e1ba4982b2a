/**
 * The storage of one namespace for one impression table: a bag of rows, which merge in any order, any number of times.
 *
 * - **load** merges the stashes, and the rows that were not read before.
 * - **save** writes what is unsaved as a row, under a new key.
 * - **compact** merges small rows into few.
 *
 * Saves have a chain of their own, loads and compactions share another. After each `await` an operation checks that
 * storage and generation are those with which it began; otherwise it drops what it has read.
 */
import type { EngineGuard } from "../engine/engine-guard.js";
import { describe, errorNameOf, SeenGuardError, type ErrorListener } from "../errors.js";
import type { Due } from "../generated/client/seenguard.js";
import { isHidden, listen, type Clock } from "../platform/host.js";
import { TextEncoder } from "../platform/text-encoding.js";
import type { GuardStats } from "../types/seenguard.js";
import { cleanOthers } from "./cleaning.js";
import { areOutdated, areSmall, DAMAGED, smallestRows, totalOf } from "./compaction.js";
import * as keys from "./keys.js";
import type { Change, Store } from "./port.js";
import { Retry } from "./retry.js";
import { Stash, type OtherStash } from "./stash.js";
import { VisibleTimers } from "./timers.js";

/** A call of the store that is silent for this long counts as failed. */
const SILENCE_MS = 10_000;
const LOAD_INTERVAL_MS = 10_000;
/** How often a load lists the keys if others remove rows that it is about to read. */
const MAX_LISTINGS = 3;
/** The delay after which unsaved changes go into the stash. */
const STASH_MS = 1_000;
/** The delay, from `open` on, of what need not be done at once. */
const SETTLE_MS = 2_000;
/** The delay from `open` until found impressions are delivered: at least this, at most twice as long. */
const FOUND_MS = 5_000;
/** The delay after which the first snapshot is stored. */
const SNAPSHOT_MS = 60_000;
const DAY_MS = 86_400_000;

const NO_ANSWER = new Error("the storage does not answer");

/** The snapshot in use in its stored form. */
export interface StoredSnapshot {
  /** Differs from snapshot to snapshot; undefined: there is none. */
  readonly latest: object | undefined;
  /** Undefined: it is too long. */
  text(): string | undefined;
  restore(text: string): void;
}

interface Listeners {
  readonly report: ErrorListener;
  /** Called when something may have been merged. */
  readonly onRead: () => void;
  /** Called for another generation: memory is cleared, except, if `keeps`, the tab's own recordings. */
  readonly onReset: (keeps: boolean) => void;
}

/** A row that is to be saved. */
interface Row {
  readonly generation: number;
  readonly text: string;
  readonly mark: number;
  readonly count: number;
}

export class NamespaceStorage {
  /** Of the latest clear that is known; 0: none. */
  generation: number;
  /** Resolves when the first load has ended. */
  readonly firstLoad: Promise<void>;
  private readonly keyMaker = new keys.KeyMaker();
  private readonly encoder = new TextEncoder();
  private readonly stash: Stash | undefined;
  private readonly timers: VisibleTimers;
  private readonly loads: Retry;
  private readonly saves: Retry;
  private readonly compactions: Retry;
  private readonly stopListening: () => void;
  private isStopped = false;
  private ended = (): void => {};
  private readonly end = new Promise<void>((resolve) => (this.ended = resolve));

  private engine: EngineGuard | undefined;
  private snapshot: StoredSnapshot | undefined;
  private attached = (): void => {};
  private readonly isAttached = new Promise<void>((resolve) => (this.attached = resolve));

  /** The rows that the table contains, and the listed keys of older generations. */
  private readonly rows = new Map<string, number>();
  private older: string[] = [];
  private lastUseMs = 0;
  /** Whether a generation that a listing has leaves the tab's own recordings: nothing was listed or merged before. */
  private keepsOwn = true;
  /** Whether the first load has ended; until then, the stashes that it has found. */
  private hasLoaded = false;
  private firstStashes: readonly OtherStash[] = [];
  /** Whether impressions of earlier visits may be delivered. */
  private isFoundDue = false;
  private compactedTotal = 0;

  private loading: Promise<void>;
  private nextLoad: Promise<void> | undefined;
  private cancelNextLoad = (): void => {};
  private saving: Promise<unknown> = Promise.resolve();
  private nextSave: Promise<void> | undefined;
  private willSave = false;
  private cancelStash: (() => void) | undefined;
  /** The latest mark of what was saved as the page hid; undefined: it is visible. */
  private hiddenMark: number | undefined;
  private savedSnapshot: object | undefined;
  private cancelSnapshot: (() => void) | undefined;
  private isFull = false;
  /** Whether the storage was full on this visit: then no snapshot is stored. */
  private hasNoRoom = false;

  /** Starts the first load, which merges once the engine is attached. */
  constructor(
    private readonly store: Store,
    private readonly name: string,
    private readonly clock: Clock,
    private readonly listeners: Listeners,
  ) {
    this.stash = store.kind === "indexeddb" ? new Stash(name, this.keyMaker) : undefined;
    this.timers = new VisibleTimers(clock);
    this.loads = new Retry(this.timers, () => void this.load());
    this.saves = new Retry(this.timers, () => this.saveFacts());
    this.compactions = new Retry(this.timers, () => this.compactLater());
    this.generation = keys.localGeneration(name);
    this.stopListening = this.listen();
    // Its first request is made before the engine is decoded.
    this.firstLoad = this.loading = this.runLoad();
  }

  private listen(): () => void {
    const stopPage = listen(["pagehide", "pageshow", "visibilitychange", "resume"], ({ type }) => {
      this.readSignal();
      if (type === "pagehide" || isHidden()) this.hide();
      else if (this.hiddenMark !== undefined || !this.timers.areRunning) this.show();
    });
    const stopStorage = listen(["storage"], (event) => {
      const { key, newValue, oldValue } = event as StorageEvent;
      if (key === keys.SIGNAL + this.name) {
        this.readSignal();
        this.learn(Math.max(...[newValue, oldValue].map((value) => keys.generationIn(value) ?? 0)));
        if (!isHidden()) void this.load();
      } else if (newValue !== null && key?.startsWith(keys.prefixOf(this.name)) && this.hasLoaded && !isHidden())
        this.mergeStashes(this.stash?.unread() ?? []);
    });
    return () => [stopPage, stopStorage].forEach((stop) => stop());
  }

  /** The engine is loaded. */
  attach(engine: EngineGuard, snapshot: StoredSnapshot): void {
    [this.engine, this.snapshot] = [engine, snapshot];
    this.attached();
  }

  /** `open` stops waiting for the first load. */
  opened(): void {
    this.mergeStashes(this.firstStashes);
    this.timers.after(SETTLE_MS, () => void this.firstLoad.then(() => this.settle()));
    this.timers.after(FOUND_MS * (1 + Math.random()), () => this.deliverFound());
  }

  private deliverFound(): void {
    void this.load().then(() => {
      this.isFoundDue = !this.loads.isFailing;
      if (!this.isFoundDue) this.timers.after(FOUND_MS, () => this.deliverFound());
    });
  }

  private settle(): void {
    const { engine, store, name } = this;
    if (!engine || this.isStopped) return;
    this.saveFacts();
    this.compactLater();
    const nowMs = this.clock.wallMs();
    const isFirstToday = Math.floor(this.lastUseMs / DAY_MS) < Math.floor(nowMs / DAY_MS);
    // A failure is repeated on another day.
    if (isFirstToday && !this.loads.isFailing) this.call(cleanOthers(store, engine, name, nowMs)).catch(() => {});
  }

  /** Stops. Writes in progress complete. */
  stop(): void {
    if (this.isStopped) return;
    this.writeStash(true);
    this.isStopped = true;
    this.timers.stop();
    this.stopListening();
    this.ended();
  }

  /** The storage in use, or what is wrong with it. */
  get state(): GuardStats["storage"] {
    if (this.saves.isFailing && this.isFull) return "full";
    return this.saves.isFailing || this.loads.isFailing ? "unavailable" : this.store.kind;
  }

  get deliversFound(): boolean {
    return this.isFoundDue && !isHidden();
  }

  private isEnded(): boolean {
    return this.isStopped;
  }

  private isCurrent(generation: number): boolean {
    return !this.isStopped && generation === this.generation;
  }

  /** The result of a call of the store, which may be silent. */
  private call<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      const cancel = this.timers.after(SILENCE_MS, () => reject(NO_ANSWER));
      work.then(cancel, cancel);
    });
  }

  /** Runs an operation. If it fails, it is repeated later. */
  private async attempt(operation: Retry, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      operation.succeeded();
    } catch (cause) {
      this.failed(operation, cause);
    }
  }

  private failed(operation: Retry, cause: unknown): void {
    if (this.isStopped) return;
    const isFull = isQuotaError(cause);
    if (operation === this.saves) this.isFull = isFull;
    // Browsers end connections of pages in the background.
    if (!isFull) this.store.reconnect();
    operation.failed();
    const isKnown = [this.loads, this.saves, this.compactions].some(({ isReported }) => isReported);
    if (operation.isReported || (isKnown && !isFull)) return;
    operation.isReported = true;
    const why = cause === NO_ANSWER ? NO_ANSWER.message : `the storage failed: ${describe(cause)}`;
    const message = isFull ? "the storage is full: what does not fit stays in memory and is tried again" : why;
    this.listeners.report(new SeenGuardError("storage", message, cause));
  }

  // The generation.

  /** Reads the generation that other tabs have written. Returns whether there was a signal. */
  readSignal(): boolean {
    const signal = keys.readGeneration(keys.SIGNAL + this.name);
    this.learn(Math.max(signal ?? 0, keys.readGeneration(keys.CLEAR + this.name) ?? 0));
    return signal !== undefined;
  }

  /** Learns a generation: a higher one clears memory, except, if `keeps`, the tab's own recordings. */
  learn(generation: number, keeps = false): void {
    if (this.isStopped || generation <= this.generation) return;
    this.generation = generation;
    this.rows.clear();
    this.stash?.reset();
    this.savedSnapshot = undefined;
    this.engine?.call((guard) => guard.reset(keeps));
    this.listeners.onReset(keeps);
    this.listeners.onRead();
    if (keeps) this.changed();
  }

  // Load.

  /** Reads what others have written. Resolves when that is done, or has failed. */
  load(): Promise<void> {
    if (!this.loads.mayRun()) return Promise.resolve();
    return (this.nextLoad ??= this.queue(() => {
      this.nextLoad = undefined;
      return this.runLoad();
    }));
  }

  private queue(work: () => Promise<void>): Promise<void> {
    return (this.loading = this.loading.then(work));
  }

  private async runLoad(): Promise<void> {
    if (this.isStopped || (this.hasLoaded && isHidden())) return;
    this.cancelNextLoad();
    await this.attempt(this.loads, async () => {
      for (let listings = 0; listings < MAX_LISTINGS; listings++) if (await this.loadOnce()) break;
      this.cancelNextLoad = this.timers.after(LOAD_INTERVAL_MS, () => void this.load());
      if (this.engine) this.stash?.removeSaved(this.engine);
    });
    await this.isAttached;
    if (this.isEnded()) return;
    if (!this.hasLoaded) {
      this.mergeStashes(this.firstStashes);
      this.hasLoaded = true;
      this.engine?.call((guard) => guard.loaded());
      this.changed();
    }
    this.listeners.onRead();
  }

  /** Returns whether everything that was listed could be read. */
  private async loadOnce(): Promise<boolean> {
    const { hasLoaded } = this;
    this.readSignal();
    // Before the store: what leaves a stash is in the store.
    const stashes = this.stash?.unread() ?? [];
    if (hasLoaded) this.mergeStashes(stashes);
    else this.firstStashes = stashes;
    const known = [...this.rows.keys()];
    const listed = keys.parseKeys(await this.call(this.store.keys(keys.prefixOf(this.name))));
    if (this.isEnded()) return true;
    this.readSignal();
    this.learn(keys.highestGeneration([...listed, ...this.firstStashes]), this.keepsOwn);
    this.keepsOwn = false;
    const { generation } = this;
    this.noteListing(listed, known);
    const isUnread = ({ key, kind, generation: other }: keys.ParsedKey) =>
      other === generation && ((kind === "r" && !this.rows.has(key)) || (kind === "h" && !hasLoaded));
    const unread = listed.filter(isUnread);
    const texts = unread.length > 0 ? await this.call(this.store.getMany(unread.map(({ key }) => key))) : [];
    await this.isAttached;
    if (!this.isCurrent(generation)) return this.isEnded();
    this.mergeStashes(this.firstStashes);
    for (const [index, { key, kind }] of unread.entries()) {
      const text = texts[index];
      if (text !== undefined && kind === "h") this.snapshot?.restore(text);
      else if (text !== undefined) this.mergeRow(key, text);
    }
    return texts.every((text) => text !== undefined);
  }

  private noteListing(listed: readonly keys.ParsedKey[], known: readonly string[]): void {
    const { generation } = this;
    const current = new Set(listed.filter((key) => key.generation === generation).map(({ key }) => key));
    this.older = listed.filter((key) => key.generation < generation).map(({ key }) => key);
    for (const key of known) if (!current.has(key)) this.rows.delete(key);
    if (!this.hasLoaded) this.lastUseMs = Math.max(...listed.map(({ n }) => n), this.lastUseMs);
  }

  private mergeRow(key: string, text: string): void {
    const source = this.hasLoaded ? "Row" : "Found";
    // A clear has left an empty one for its key.
    this.rows.set(key, text === "" ? 0 : this.merge(text, source));
  }

  /** Returns how many recordings a row has, or that it is damaged. */
  private merge(text: string, source: "Row" | "Found" | "Stash"): number {
    const { engine } = this;
    const count = engine?.call((guard) => guard.merge(this.encoder.encode(text), engine.classes.Source[source]));
    if (count === DAMAGED)
      this.listeners.report(new SeenGuardError("storage", "a stored row is damaged and is left out"));
    return count ?? 0;
  }

  private mergeStashes(stashes: readonly OtherStash[]): void {
    const { engine, stash } = this;
    this.firstStashes = [];
    if (!engine || !stash || stashes.length === 0) return;
    this.keepsOwn = false;
    this.learn(keys.highestGeneration(stashes));
    for (const { key, text, generation } of stashes) {
      if (generation < this.generation) keys.removeLocal([key]);
      else {
        this.merge(text, "Stash");
        stash.noteMerged(key);
      }
    }
    this.changed();
    // It is removed when its facts are saved, too.
    if (this.hasLoaded) this.saveFacts();
  }

  // Save.

  /** Schedules a save for the end of the current task. */
  changed(): void {
    this.cancelStash ??= this.stash && this.timers.after(STASH_MS, () => this.writeStash());
    if (this.willSave) return;
    this.willSave = true;
    queueMicrotask(() => {
      this.willSave = false;
      if (this.saves.mayRun()) void this.save();
    });
  }

  /** Resolves when everything recorded so far is stored, or storing it has failed. */
  async flush(): Promise<void> {
    const flushed = this.firstLoad.then(() => this.save(this.engine?.classes.Due.All)).then(() => this.saveSnapshot());
    await Promise.race([this.end, flushed]);
  }

  private saveFacts(): void {
    void this.save(this.engine?.classes.Due.Facts);
  }

  private save(due?: Due): Promise<void> {
    if (this.nextSave && due === undefined) return this.nextSave;
    const saving = this.saving.then(() => {
      this.nextSave = undefined;
      return this.maySave() ? this.attempt(this.saves, () => this.saveAll(due)) : undefined;
    });
    this.saving = this.nextSave = saving;
    return saving;
  }

  private async saveAll(due: Due = 0): Promise<void> {
    for (let row; this.maySave() && (row = this.unsaved(0, due));) await this.putWithRoom(row);
    if (!this.maySave()) return;
    this.isFull = false;
    this.cancelStash?.();
    this.cancelStash = undefined;
    this.stash?.remove();
    if (this.engine) this.stash?.removeSaved(this.engine);
    this.compactLater();
  }

  /** Whether the generation is known well enough to write under it. */
  private maySave(): boolean {
    return !this.isStopped && (this.readSignal() || this.hasLoaded || isHidden());
  }

  private unsaved(after: number, due: Due): Row | undefined {
    const { generation } = this;
    return this.engine?.call((guard, wallMs) => {
      const text = guard.unsaved(after, due, wallMs);
      if (text === undefined) return undefined;
      const [mark = 0, count = 0] = guard.numbers();
      return { generation, text, mark, count };
    });
  }

  /** Writes a row. With an open connection the request is made before this returns. */
  private async put({ generation, text, mark, count }: Row): Promise<void> {
    const key = this.newKey();
    if (!(await this.write(generation, { set: [[key, text]] }))) return;
    this.engine?.call((guard) => guard.saved(mark));
    this.rows.set(key, count);
    this.readSignal();
    keys.writeGeneration(keys.SIGNAL + this.name, this.generation);
  }

  /** Writes if this generation goes on. Returns whether it does so afterwards. */
  private async write(generation: number, change: Change): Promise<boolean> {
    const opening = this.store.opening();
    if (opening) await this.call(opening);
    this.readSignal();
    if (!this.isCurrent(generation)) return false;
    await this.call(this.store.write(change));
    return this.isCurrent(generation);
  }

  private newKey(): string {
    return this.keyMaker.make(this.name, this.generation, "r", this.clock.wallMs());
  }

  /** Writes a row; in a full storage again, when there is room. */
  private async putWithRoom(row: Row): Promise<void> {
    try {
      await this.put(row);
    } catch (cause) {
      if (!isQuotaError(cause) || isHidden()) throw cause;
      this.hasNoRoom = true;
      const remove = [this.snapshotKey];
      const makeRoom = () => this.call(this.store.write({ remove })).then(() => this.compact(true));
      // If that fails, too, there is room or the row fails again.
      await this.queue(() => makeRoom().catch(() => {}));
      await this.put(row);
    }
  }

  private writeStash(isLast = false): void {
    this.cancelStash?.();
    this.cancelStash = undefined;
    this.readSignal();
    if (this.engine) this.stash?.write(this.engine, this.generation, this.clock.wallMs(), isLast);
  }

  // The snapshot in use.

  private get snapshotKey(): string {
    return `${keys.under(this.name, this.generation)}h`;
  }

  /** A snapshot was applied. */
  snapshotChanged(): void {
    this.cancelSnapshot ??= this.timers.after(SNAPSHOT_MS, () => void this.saveSnapshot());
  }

  private async saveSnapshot(): Promise<void> {
    const { snapshot, generation, snapshotKey } = this;
    const latest = snapshot?.latest;
    if (!latest || latest === this.savedSnapshot || this.hasNoRoom || !this.maySave()) return;
    const text = snapshot.text();
    try {
      const change = text === undefined ? { remove: [snapshotKey] } : { set: [[snapshotKey, text] as const] };
      if (await this.write(generation, change)) this.savedSnapshot = latest;
    } catch (cause) {
      // A later one is stored. That the storage fails is reported by what is saved.
      this.hasNoRoom ||= isQuotaError(cause);
    }
  }

  // Compaction.

  private compactLater(): void {
    const hasGarbage = this.older.length > 0 || [...this.rows.values()].includes(DAMAGED);
    if (!this.hasLoaded || isHidden() || !(hasGarbage || this.areMany())) return;
    if (this.compactions.mayRun()) void this.queue(() => this.attempt(this.compactions, () => this.compact(false)));
  }

  private areMany(): boolean {
    const recordings = () => this.engine?.count("Recordings") ?? Infinity;
    // What the latest compaction could not make fewer is left alone.
    const hasGrown = totalOf(this.rows) > 1.1 * this.compactedTotal;
    return areSmall(this.rows) || (hasGrown && areOutdated(this.rows, recordings));
  }

  private async compact(isForced: boolean): Promise<void> {
    const { generation, engine } = this;
    const mayGoOn = () => this.isCurrent(generation) && !isHidden();
    if (!engine || !mayGoOn()) return;
    const chosen = isForced || this.areMany() ? smallestRows(this.rows) : [];
    const damaged = [...this.rows].filter(([, count]) => count === DAMAGED).map(([key]) => key);
    const remove = [...chosen, ...damaged, ...this.older];
    if (remove.length === 0) return;
    const texts = chosen.length > 0 ? await this.call(this.store.getMany(chosen)) : [];
    // If another tab has compacted, the next load says what there is.
    if (!mayGoOn() || texts.includes(undefined)) return;
    const all = texts.filter((text) => text !== "").join("\n");
    const rewritten = all === "" ? "" : engine.call((guard) => guard.rewrite(this.encoder.encode(all)));
    // Some row stays, since its key has the generation.
    if (rewritten === undefined || (rewritten === "" && chosen.length > 0)) return;
    const counts = engine.call((guard) => guard.numbers()) ?? [];
    const made = rewritten === "" ? [] : rewritten.split("\n");
    const set = made.map((text) => [this.newKey(), text] as const);
    if (!(await this.write(generation, { remove, set }))) return;
    for (const key of remove) this.rows.delete(key);
    for (const [index, [key]] of set.entries()) this.rows.set(key, counts[index] ?? 0);
    this.older = [];
    if (chosen.length > 0) this.compactedTotal = totalOf(this.rows);
  }

  // The page's lifecycle.

  /** The page hides, and may never run again. A second event writes only what is new. */
  private hide(): void {
    this.timers.pause();
    const { engine } = this;
    const isFirst = this.hiddenMark === undefined;
    let after = this.hiddenMark ?? 0;
    const writes: Promise<void>[] = [];
    for (let row; engine && (row = this.unsaved(after, engine.classes.Due.All)); after = row.mark)
      writes.push(this.put(row));
    this.hiddenMark = after;
    if (writes.length > 0 || isFirst) this.writeStash(true);
    const written = Promise.all(writes).then(
      () => (writes.length > 0 ? this.changed() : undefined),
      (cause: unknown) => this.failed(this.saves, cause),
    );
    this.saving = Promise.all([this.saving, written, this.saveSnapshot()]);
  }

  private show(): void {
    this.hiddenMark = undefined;
    this.timers.resume();
    void this.load();
    this.changed();
  }
}

/** JavaScript engines name this error differently. */
const isQuotaError = (cause: unknown): boolean => /quota/i.test(errorNameOf(cause));
