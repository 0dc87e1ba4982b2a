/**
 * One namespace in one document, shared by its holders: its part of the engine, its storage, its reporter and the error
 * listeners.
 *
 * It fails open: without an engine, after a trap and once closed, everything passes.
 */
import { CLOCK, deviceClock, listen, retryDelayMs, withTimeout, type Clock } from "../platform/host.js";
import { Reporter } from "../delivery/reporter.js";
import { addressOf, type CheckedReportOptions, type Reason } from "../delivery/request.js";
import { NamespaceEngine } from "../engine/namespace-engine.js";
import type { Batch, Indices, Split } from "../engine/engine-types.js";
import type { Engines } from "../engine/load.js";
import { callBack, refuse, SeenGuardError, type ErrorListener } from "../errors.js";
import type { BatchEnd, Count } from "../generated/client/seenguard.js";
import { countItems, countLatest, idsOfItem, indicesOf, splitByIds, type ItemIdList } from "../input/ids.js";
import { ObservedItems } from "../observer/observed-items.js";
import { finishClears, type OpenNamespace } from "../storage/clear.js";
import { hasLocal, nameOf } from "../storage/keys.js";
import { NamespaceStorage } from "../storage/storage.js";
import { storeOf } from "../storage/choice.js";
import type { Store } from "../storage/port.js";
import type { ApplyResult, Explanation, GuardOptions, GuardStats, ItemId } from "../types/seenguard.js";
import type { StoppedItem, Tool } from "./hook.js";
import type { OpenOptions } from "./options.js";
import type { Subscribers } from "./subscribers.js";
import { checkSnapshot } from "../input/snapshot.js";
import { LatestSnapshot } from "./stored-snapshot.js";

/** The largest number that the engine takes: no limit. */
const NO_LIMIT = 2 ** 32 - 1;

/** The headers of each request, and the most characters of both values together: servers refuse larger headers. */
const HELD = "Seen-Held";
const PENDING = "Seen-Pending";
const MAX_HEADER_CHARACTERS = 4_000;
/** How long `open` waits for the storage. Data that is read later is still merged. */
const OPEN_TIMEOUT_MS = 2_000;
/** The longest delay before loading the engine is tried again. */
const LAST_RETRY_MS = 60_000;
/** The most ids that are queued while there is no engine. */
const MAX_WAITING = 1_000;
/** How long `flush` waits for the storage. */
const FLUSH_TIMEOUT_MS = 10_000;
/** Without a cross-tab signal: how long delivery waits for a check for clears, and the interval of these checks. */
const LOAD_TIMEOUT_MS = 1_000;
const LOAD_INTERVAL_MS = 60_000;

/** The listeners of one open handle. */
export interface Holder {
  readonly onError: ErrorListener;
  readonly onLag: GuardOptions["onLag"];
  readonly subscribers: Subscribers;
}

/** Whether an event is being dispatched to tools, by any namespace: calls that they make meanwhile cause no events. */
let isTelling = false;

/** A `record` or `unsee` that was called while there was no engine. */
interface Waiting {
  readonly tell: (engine: NamespaceEngine) => unknown;
}

/** A namespace that was never started lets everything pass. */
export class Namespace implements OpenNamespace {
  readonly options: OpenOptions;
  readonly engines: Engines;
  readonly clock: Clock;
  readonly holders = new Set<Holder>();
  readonly tools = new Set<Tool>();
  readonly observed = new ObservedItems();
  /** The revision of which subscribers were notified last. */
  private notifiedRevision = 0;
  /** Whether it is open in this document: it has an engine, or loads one. */
  private isOpen = false;
  private starting: Promise<void> | undefined;
  /** Why there is no engine. */
  failure: SeenGuardError | undefined;
  private failures = 0;
  private cancelRetry = (): void => {};
  private waiting: Waiting[] = [];
  /** Where the namespace is stored; undefined: nowhere. */
  readonly store: Store | undefined;
  private engine: NamespaceEngine | undefined;
  private storage: NamespaceStorage | undefined;
  private snapshot: LatestSnapshot | undefined;
  /** The generation without a storage. */
  private clearedAt = 0;
  private loadedMs = -Infinity;
  /** Messages of `too-large` that were reported: each is reported once. */
  private readonly told = new Set<string>();
  reporter: Reporter | undefined;

  constructor(options: OpenOptions, engines: Engines) {
    this.options = options;
    this.engines = engines;
    this.clock = options[CLOCK] ?? deviceClock;
    this.store = storeOf(options.storage);
  }

  /**
   * Loads the engine, if there is none, and the stored data. Rejects only for wrong options; any other failure is in
   * `failure` and is retried with these options.
   */
  start(options: OpenOptions): Promise<void> {
    if (this.isAlive && !this.starting) return Promise.resolve();
    this.isOpen = true;
    return (this.starting ??= this.load(options).finally(() => {
      this.starting = undefined;
      // For an engine that loads late.
      if (this.isAlive) this.notifySubscribers();
    }));
  }

  private async load(options: OpenOptions): Promise<void> {
    this.cancelRetry();
    // The engine and what is stored load at the same time, unless the engine has failed before.
    if (!this.failure) this.openStorage();
    try {
      await this.startEngine(options);
    } finally {
      if (!this.engine) this.stopStorage();
    }
    const { storage, store } = this;
    this.recordWaiting();
    void finishClears(store, nameOf(this.options.namespace));
    if (!storage) return;
    await withTimeout(OPEN_TIMEOUT_MS, storage.firstLoad);
    storage.opened();
  }

  private openStorage(): void {
    const { store, clock, report } = this;
    const listeners = { report, onRead: this.noteChanges, onReset: this.reset };
    const name = nameOf(this.options.namespace);
    this.storage ??= store && new NamespaceStorage(store, name, clock, listeners);
  }

  private stopStorage(): void {
    this.storage?.stop();
    this.storage = undefined;
  }

  private async startEngine(asked: OpenOptions): Promise<void> {
    try {
      const { store, clock, options } = this;
      const loaded = await this.engines.load(asked);
      if (!this.isOpen) return;
      const engine = new NamespaceEngine(loaded, options, store !== undefined, clock, this.onTrap);
      if (!engine.isAlive) return;
      this.engine = engine;
      this.openStorage();
      if (this.reporter?.isOn) this.call((guard) => guard.startReporting());
      this.snapshot = new LatestSnapshot(engine);
      this.storage?.attach(engine, this.snapshot);
    } catch (cause) {
      const error = cause as SeenGuardError;
      if (error.code === "bad-option") throw error;
      this.failure = error;
      this.retryLater(asked);
    }
  }

  /** Schedules another attempt if the app provides a source of the engine, which may be reachable later. */
  private retryLater(options: OpenOptions): void {
    if (!this.isOpen || !(options.fallback || options.wasm)) return;
    const retry = () => void this.start(options).catch(this.report);
    const cancel = this.clock.after(retryDelayMs(this.failures++, LAST_RETRY_MS), retry);
    const stop = listen(["online"], retry);
    this.cancelRetry = () => [cancel, stop].forEach((each) => each());
  }

  /** Replaces an engine that has trapped, once in a document. The new one begins with the stored data. */
  private readonly onTrap = (error: SeenGuardError): void => {
    this.stopStorage();
    this.engine = undefined;
    this.report(error);
    void Promise.resolve(this.starting).then(() => (this.isOpen ? this.start(this.options) : undefined));
  };

  /** Queues calls until there is an engine, if one is to come; keeps the latest. */
  private wait(ids: readonly ItemId[], tell: (engine: NamespaceEngine, id: ItemId, at: number) => unknown): void {
    if (!this.isOpen) return;
    const at = this.clock.wallMs();
    const each = ids.map((id): Waiting => ({ tell: (engine) => tell(engine, id, at) }));
    this.waiting = [...this.waiting, ...each].slice(-MAX_WAITING);
  }

  /** Replays the queued calls with their times. */
  private recordWaiting(): void {
    const { engine } = this;
    if (!engine) return;
    for (const { tell } of this.waiting) tell(engine);
    if (this.waiting.length > 0) this.recorded();
    this.waiting = [];
  }

  /** Whether there is an engine. */
  get isAlive(): boolean {
    return this.engine !== undefined;
  }

  readonly report = (error: SeenGuardError): void => {
    for (const { onError } of this.holders) callBack(onError, error);
  };

  /** Calls into the engine; `undefined` if there is none. */
  private call<T>(run: Parameters<typeof NamespaceEngine.prototype.call<T>>[0]): T | undefined {
    return this.engine?.call(run);
  }

  private tellTooLarge(message: string): void {
    if (this.told.has(message)) return;
    this.told.add(message);
    this.report(new SeenGuardError("too-large", message));
  }

  apply(snapshot: unknown): ApplyResult {
    try {
      const checked = this.engine && checkSnapshot(snapshot, this.engines.readShards);
      const outcome = checked && this.engine?.apply(checked, false);
      if (!outcome) return refused("no-engine");
      if (outcome.reason) return refused(outcome.reason);
      this.snapshot?.note(checked, this.clock.wallMs());
      this.storage?.changed();
      this.storage?.snapshotChanged();
      if (outcome.isSaturated) this.tellTooLarge("the server's shards are too full: they stop most fresh items");
      for (const { id, lagMs } of outcome.lags) for (const { onLag } of this.holders) callBack(onLag, lagMs, id);
      this.noteChanges();
      this.tell((tool) => tool.applied({ shards: checked.shards, lagsMs: outcome.lags.map(({ lagMs }) => lagMs) }));
      return { applied: true, covered: outcome.covered };
    } catch (cause) {
      const error = cause as SeenGuardError;
      // A page without a snapshot is no error.
      if (snapshot !== undefined && snapshot !== null) this.report(error);
      return { ...refused("invalid"), error };
    }
  }

  /** The indices of the fresh items; `undefined`: there is no engine, and everything passes. */
  fresh(list: ItemIdList): Indices | undefined {
    return this.split(list, false)?.fresh;
  }

  /** The same and, if `withSeen`, the indices of the seen items, those seen longest ago first. */
  split(list: ItemIdList, withSeen = true): Split | undefined {
    const split = this.isTooLong(list) ? { fresh: indicesOf(list), seen: [] } : this.splitShort(list, withSeen);
    this.tellDecision(list, split?.fresh);
    return split;
  }

  private splitShort(list: ItemIdList, withSeen: boolean): Split | undefined {
    const split = this.engine?.split(list.ids, withSeen || list.ends !== undefined);
    return split && list.ends ? splitByIds(list, split.seen) : split;
  }

  private isTooLong({ ids }: ItemIdList): boolean {
    const isTooLong = countLatest(ids) < ids.length;
    if (isTooLong) this.tellTooLarge("a list has over 20,000 ids or 1 MB of their texts: it passes whole");
    return isTooLong;
  }

  /** False while tools handle an event: a tool that calls `filter` would cause events without end. */
  private get hasTools(): boolean {
    return this.tools.size > 0 && !isTelling;
  }

  private tellDecision(list: ItemIdList, fresh: Indices | undefined): void {
    const items = countItems(list);
    if (!this.hasTools || !fresh || items === 0) return;
    const passed = new Set(fresh);
    const indices = indicesOf(list).filter((item) => !passed.has(item));
    const stopped = indices.map((item) => this.whyStopped(idsOfItem(list, item).map(String)));
    this.tell((tool) => tool.decided({ items, stopped }));
  }

  /** Dispatches an event after the call has returned, so that no tool affects its result. */
  private tell(tell: (tool: Tool) => void): void {
    if (!this.hasTools) return;
    queueMicrotask(() => {
      isTelling = true;
      for (const tool of this.tools) callBack(tell, tool);
      isTelling = false;
    });
  }

  private whyStopped(ids: readonly string[]): StoppedItem {
    const [first = ""] = ids;
    const id = ids.find((each) => this.explain(each).seen) ?? first;
    return { ids, id, why: this.explain(id) };
  }

  record(ids: readonly ItemId[], isLocal: boolean): number {
    if (!this.isAlive) this.wait(ids, (engine, id, at) => engine.record([id], isLocal, at));
    const [unknown, lostText] = this.engine?.record(this.latest(ids), isLocal) ?? [];
    if (unknown === undefined || ids.length === 0) return 0;
    if (lostText)
      this.tellTooLarge("too many impressions are pending: the oldest are still stopped, but no longer pending");
    this.recorded();
    return unknown;
  }

  unsee(ids: readonly ItemId[]): number {
    if (!this.isAlive) this.wait(ids, (engine, id, at) => engine.unsee([id], at));
    const stopped = this.engine?.unsee(this.latest(ids));
    if (stopped === undefined || ids.length === 0) return 0;
    this.recorded();
    this.noteChanges();
    return stopped;
  }

  /** Notifies subscribers if an id has become unseen or was deleted. */
  private readonly noteChanges = (): void => {
    if (this.notifiedRevision !== this.unseenRevision) this.notifySubscribers();
  };

  private notifySubscribers(): void {
    this.notifiedRevision = this.unseenRevision;
    for (const { subscribers } of this.holders) subscribers.notify();
  }

  /** The list, or the last ids of one that is too long. */
  private latest(ids: readonly ItemId[]): readonly ItemId[] {
    const count = countLatest(ids);
    if (count === ids.length) return ids;
    this.tellTooLarge(`a list has over 20,000 ids or 1 MB of their texts: the last ${count} are taken`);
    return ids.slice(-count);
  }

  /** Notifies the storage and the reporter of new data. */
  private recorded(): void {
    this.storage?.changed();
    this.reporter?.recorded(this.undelivered);
  }

  /** The indices of the ids that pass because they are unseen or the history was deleted. */
  unseen(ids: readonly ItemId[]): Indices {
    const latest = ids.slice(-countLatest(ids));
    const before = ids.length - latest.length;
    return Array.from(this.engine?.unseen(latest) ?? [], (index) => before + index);
  }

  /** Grows when an id becomes unseen or is forgotten: here, in another tab or by the server. */
  get unseenRevision(): number {
    return this.count("UnseenRevision");
  }

  /** The generation: that of the latest clear of the namespace that is known; 0: none. */
  get generation(): number {
    this.storage?.readSignal();
    return this.storage?.generation ?? this.clearedAt;
  }

  /** Applies a clear by this document: memory is cleared at once; `keeps`: except impressions recorded since. */
  cleared(generation: number, keeps: boolean): void {
    if (this.storage) this.storage.learn(generation, keeps);
    else {
      this.clearedAt = generation;
      this.call((guard) => guard.reset(keeps));
      this.reset(keeps);
      this.noteChanges();
    }
  }

  private readonly reset = (keeps: boolean): void => {
    if (!keeps) this.waiting = [];
    this.snapshot?.forget();
  };

  /** Checks the store for clears where there is no cross-tab signal. Resolves when delivery may go on. */
  loadBefore(): Promise<unknown> | undefined {
    const { storage, store, clock } = this;
    if (!storage || hasLocal()) return undefined;
    const wallMs = clock.wallMs();
    // After a clock jump in either direction the elapsed time is unknown: check again.
    if (store?.kind === "custom" && Math.abs(wallMs - this.loadedMs) < LOAD_INTERVAL_MS) return undefined;
    this.loadedMs = wallMs;
    return withTimeout(LOAD_TIMEOUT_MS, storage.load());
  }

  private get undelivered(): number {
    return this.count("Undelivered");
  }

  private count(what: keyof typeof Count): number {
    return this.engine?.count(what) ?? 0;
  }

  explain(id: ItemId): Explanation {
    return this.engine?.explain(id) ?? { seen: false };
  }

  pending(limit?: number): string[] {
    this.storage?.readSignal();
    return this.engine?.pending(limitOf(limit)) ?? [];
  }

  /** The headers of a request for a page. */
  headers(): Record<string, string> {
    this.storage?.readSignal();
    const held = this.call((guard) => guard.held()) ?? "";
    const pending = this.pendingList(MAX_HEADER_CHARACTERS - held.length);
    return { ...(held !== "" && { [HELD]: held }), [PENDING]: pending };
  }

  /** The value of `Seen-Pending`: the device's name and its pending impressions, 1,000 ids at most. */
  pendingList(maxCharacters?: number): string {
    return this.call((guard, wallMs) => guard.pendingList(limitOf(maxCharacters), wallMs)) ?? "";
  }

  stats(): GuardStats {
    const { kind: engine = "none" } = this.engine ?? {};
    const storage = this.storage?.state ?? "none";
    const [pending = 0, undelivered = 0, remembered = 0, serverFalsePositiveRate = 0, latest = NaN] =
      this.call((guard, wallMs) => guard.stats(wallMs)) ?? [];
    const version = Number.isNaN(latest) ? undefined : latest;
    const known = { version, pending, undelivered, remembered, serverFalsePositiveRate };
    return { engine, storage, ...known, failingSince: this.reporter?.failingSince };
  }

  /** `reason`: impressions of earlier visits are delivered by a visible page some seconds after it opened, or all. */
  beginBatch(maxImpressions: number, maxBytes: number, reason: Reason): Batch | undefined {
    const takesAll = reason === "flush" || !this.storage || this.storage.deliversFound;
    const scope = reason === "hide" ? "Hiding" : takesAll ? "All" : "Own";
    return this.engine?.beginBatch(maxImpressions, maxBytes, scope);
  }

  /** Ends a batch. One that was left as the page hid may end again: the page may never read the response. */
  endBatch(batch: number, end: keyof typeof BatchEnd): void {
    const { engine } = this;
    engine?.call((guard, wallMs) => guard.endBatch(batch, engine.classes.BatchEnd[end], wallMs));
    if (end !== "Failed") this.storage?.changed();
  }

  /** Delivers impressions until it is stopped. The reporter stays after that, with the retry delay of its address. */
  startReport(options: CheckedReportOptions): () => void {
    if (!this.isOpen) return () => {};
    let { reporter } = this;
    if (reporter?.address !== addressOf(options)) {
      if (reporter?.isOn) refuse(`the namespace has a report already, to ${reporter.address}: stop it first`);
      this.reporter = reporter = new Reporter(this, options, this.clock);
    }
    reporter.start(options);
    this.call((guard) => guard.startReporting());
    // Impressions marked for delivery from now on are stored with that mark.
    this.storage?.changed();
    return reporter.stop;
  }

  /** Delivers at once until nothing is left, a batch fails or the time is over. With 0 it delivers nothing. */
  async deliver(timeoutMs: number): Promise<{ delivered: number; left: number }> {
    const { reporter } = this;
    const before = reporter?.delivered ?? 0;
    if (reporter && timeoutMs > 0) await withTimeout(timeoutMs, reporter.flush());
    return { delivered: (reporter?.delivered ?? 0) - before, left: this.undelivered + (reporter?.waiting ?? 0) };
  }

  /** Resolves when everything recorded so far is stored, or when storing it has failed and was reported. */
  async flush(timeoutMs = FLUSH_TIMEOUT_MS): Promise<void> {
    if (this.storage && this.isAlive) await withTimeout(timeoutMs, this.storage.flush());
  }

  /** Frees the engine's memory. Afterwards everything passes. */
  free(): void {
    this.isOpen = false;
    this.cancelRetry();
    this.stopStorage();
    this.engine?.free();
    this.engine = undefined;
  }
}

/** The limit as the engine takes it; anything but a number is no limit. */
function limitOf(limit: number | undefined): number {
  return typeof limit === "number" && limit >= 0 ? Math.min(limit, NO_LIMIT) : NO_LIMIT;
}

/** The result for a snapshot that was not applied. */
export function refused(reason: NonNullable<ApplyResult["reason"]>): ApplyResult {
  return { applied: false, reason, covered: 0 };
}
