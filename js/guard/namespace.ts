/**
 * One namespace in one document, shared by its holders: its part of the engine, its storage, its reporter and the error
 * listeners.
 *
 * It fails open: without an engine, after a trap and once closed, everything passes.
 */
import { CLOCK, deviceClock, listen, retryDelayMs, withTimeout, type Clock } from "../platform/host.js";
import { Reporter } from "../delivery/reporter.js";
import { addressOf, type CheckedReportOptions } from "../delivery/request.js";
import { NamespaceEngine } from "../engine/namespace-engine.js";
import type { Batch, Indices, Split } from "../engine/engine-types.js";
import type { Engines } from "../engine/load.js";
import { callBack, refuse, SeenGuardError, type ErrorListener } from "../errors.js";
import { countItems, countLatest, idsOfItem, indicesOf, splitByIds, type ItemIdList } from "../input/ids.js";
import { ObservedItems } from "../observer/observed-items.js";
import type { OpenNamespace } from "../storage/cleaning.js";
import { connect, useConnection } from "../storage/indexeddb.js";
import { hasLocal, nameOf, prefixOf } from "../storage/keys.js";
import { StoragePerformer } from "../storage/performer.js";
import { choiceOf, placeOf, type StorageChoice } from "../storage/places.js";
import type { ApplyResult, Explanation, GuardOptions, GuardStats, ItemId } from "../types/seenguard.js";
import type { StoppedItem, Tool } from "./hook.js";
import type { OpenOptions } from "./options.js";
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
const LOOK_TIMEOUT_MS = 1_000;
const LOOK_INTERVAL_MS = 60_000;

/** The listeners of one open handle. */
export interface Holder {
  readonly onError: ErrorListener;
  readonly onLag: GuardOptions["onLag"];
}

/** Whether an event is being dispatched to tools, by any namespace: calls that they make meanwhile cause no events. */
let isTelling = false;

/** A `record` or `unsee` that was called while there was no engine. */
interface Waiting {
  readonly at: number;
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
  /** Called when an id becomes unseen or is forgotten. */
  readonly onChanges = new Set<() => void>();
  private toldRevision = 0;
  /** Whether it is open in this document: it has an engine, or loads one. */
  private isOpen = false;
  private starting: Promise<void> | undefined;
  /** Why there is no engine. */
  failure: SeenGuardError | undefined;
  private failures = 0;
  private cancelRetry = (): void => {};
  private waiting: Waiting[] = [];
  /** Where the namespace is kept. */
  readonly choice: StorageChoice | undefined;
  private engine: NamespaceEngine | undefined;
  private performer: StoragePerformer | undefined;
  private snapshot: LatestSnapshot | undefined;
  private lookedMs = -Infinity;
  /** Messages of `too-large` that were reported: each is reported once. */
  private readonly told = new Set<string>();
  reporter: Reporter | undefined;

  constructor(options: OpenOptions, engines: Engines) {
    this.options = options;
    this.engines = engines;
    this.clock = options[CLOCK] ?? deviceClock;
    this.choice = choiceOf(options.storage);
  }

  /**
   * Loads the engine, if there is none, and the stored data. Rejects only for wrong options; any other failure is in
   * `failure` and is retried with these options.
   */
  start(options: OpenOptions): Promise<void> {
    if (this.isAlive && !this.starting) return Promise.resolve();
    this.isOpen = true;
    return (this.starting ??= this.load(options).finally(() => (this.starting = undefined)));
  }

  private async load(options: OpenOptions): Promise<void> {
    this.cancelRetry();
    // The engine and the database load in parallel.
    const release = this.choice === "indexeddb" ? useConnection() : () => {};
    if (this.choice === "indexeddb") connect(() => {});
    try {
      await this.startEngine(options);
    } finally {
      release();
    }
    const { performer } = this;
    const looking = performer?.begin();
    this.recordWaiting();
    if (!performer || !looking) return;
    await withTimeout(OPEN_TIMEOUT_MS, looking);
    performer.happens("Opened");
  }

  private async startEngine(asked: OpenOptions): Promise<void> {
    try {
      const { choice, clock, options, report } = this;
      const loaded = await this.engines.load(asked);
      if (!this.isOpen) return;
      const name = nameOf(options.namespace);
      const kept = { ...options, prefix: prefixOf(name), place: placeOf(choice) };
      const engine = new NamespaceEngine(loaded, kept, clock, this.onTrap);
      if (!engine.isAlive) return;
      this.engine = engine;
      if (this.reporter?.isOn) this.call((guard) => guard.startReporting());
      if (choice === undefined) return;
      const snapshot = (this.snapshot = new LatestSnapshot(engine));
      this.performer = new StoragePerformer(engine, choice, name, snapshot, clock, report, this.noteChanges);
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
    this.performer?.stop();
    [this.engine, this.performer] = [undefined, undefined];
    this.report(error);
    void Promise.resolve(this.starting).then(() => (this.isOpen ? this.start(this.options) : undefined));
  };

  /** Queues calls until there is an engine, if one is to come; keeps the latest. */
  private wait(ids: readonly ItemId[], tell: (engine: NamespaceEngine, id: ItemId, at: number) => unknown): void {
    if (!this.isOpen) return;
    const at = this.clock.wallMs();
    const each = ids.map((id): Waiting => ({ at, tell: (engine) => tell(engine, id, at) }));
    this.waiting = [...this.waiting, ...each].slice(-MAX_WAITING);
  }

  /** Replays the queued calls with their times, except those from before a clear by another tab. */
  private recordWaiting(): void {
    const { engine, number } = this;
    if (!engine) return;
    for (const { at, tell } of this.waiting) if (at >= number) tell(engine);
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
      this.performer?.changed();
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

  /** Notifies listeners of unseen ids, also after the call has returned. */
  private readonly noteChanges = (): void => {
    const { unseenRevision } = this;
    if (this.toldRevision === unseenRevision) return;
    this.toldRevision = unseenRevision;
    queueMicrotask(() => this.onChanges.forEach((listener) => callBack(listener)));
  };

  /** The list, or the last ids of one that is too long. */
  private latest(ids: readonly ItemId[]): readonly ItemId[] {
    const count = countLatest(ids);
    if (count === ids.length) return ids;
    this.tellTooLarge(`a list has over 20,000 ids or 1 MB of their texts: the last ${count} are taken`);
    return ids.slice(-count);
  }

  /** Notifies the storage and the reporter of new data. */
  private recorded(): void {
    this.performer?.changed();
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
    return this.call((guard) => guard.unseenRevision) ?? 0;
  }

  /** The number of the latest clear of the namespace that is known; 0: none. */
  get number(): number {
    this.performer?.hear();
    return this.call((guard) => guard.number) ?? 0;
  }

  /** Applies a clear by this document: memory is cleared at once; `keeps`: except impressions recorded since. */
  cleared(number: number, keeps: boolean): void {
    if (!keeps) this.waiting = [];
    if (this.performer) this.performer.clear(number, keeps);
    else this.call((guard) => guard.clear(number, keeps));
    this.noteChanges();
  }

  /** Checks the store for clears where there is no cross-tab signal. Resolves when delivery may go on. */
  lookBefore(): Promise<unknown> | undefined {
    const { performer, choice, clock } = this;
    if (!performer || hasLocal()) return undefined;
    const wallMs = clock.wallMs();
    // After a clock jump in either direction the elapsed time is unknown: check again.
    if (typeof choice !== "string" && Math.abs(wallMs - this.lookedMs) < LOOK_INTERVAL_MS) return undefined;
    this.lookedMs = wallMs;
    return withTimeout(LOOK_TIMEOUT_MS, performer.look());
  }

  private get undelivered(): number {
    return this.call((guard) => guard.undelivered) ?? 0;
  }

  explain(id: ItemId): Explanation {
    return this.engine?.explain(id) ?? { seen: false };
  }

  pending(limit?: number): string[] {
    this.performer?.hear();
    return this.engine?.pending(limitOf(limit)) ?? [];
  }

  /** The headers of a request for a page. */
  headers(): Record<string, string> {
    this.performer?.hear();
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
    const { storage = "none" } = this.performer ?? {};
    const [pending = 0, undelivered = 0, remembered = 0, serverFalsePositiveRate = 0, latest = NaN] =
      this.call((guard, wallMs) => guard.stats(wallMs)) ?? [];
    const version = Number.isNaN(latest) ? undefined : latest;
    const known = { version, pending, undelivered, remembered, serverFalsePositiveRate };
    return { engine, storage, ...known, failingSince: this.reporter?.failingSince };
  }

  beginBatch(maxImpressions: number, maxBytes: number, isLast: boolean): Batch | undefined {
    return this.engine?.beginBatch(maxImpressions, maxBytes, isLast);
  }

  /** A batch was sent as the page hid. The page may never read the response. */
  leaveBatch(batch: number): void {
    this.call((guard, wallMs) => guard.leaveBatch(batch, wallMs));
    this.performer?.changed();
  }

  /** Ends a batch: delivered, or failed. */
  endBatch(batch: number, arrived: boolean): void {
    this.call((guard, wallMs) => guard.endBatch(batch, arrived, wallMs));
    if (arrived) this.performer?.changed();
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
    this.performer?.changed();
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
    if (this.performer && this.isAlive) await withTimeout(timeoutMs, this.performer.flush());
  }

  /** Frees the engine's memory. Afterwards everything passes. */
  free(): void {
    this.isOpen = false;
    this.cancelRetry();
    this.performer?.stop();
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
