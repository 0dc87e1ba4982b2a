/**
 * One namespace in one document, shared by its holders: its engine, its storage, its reporter and the error listeners.
 *
 * It fails open: without an engine, after a trap and once closed, everything passes.
 */
import { CLOCK, deviceClock, withTimeout, type Clock } from "../platform/host.js";
import type { Batch } from "../delivery/batches.js";
import { Reporter } from "../delivery/reporter.js";
import { addressOf, type CheckedReportOptions, type Reason } from "../delivery/request.js";
import type { EngineGuard, Indices, Recording, Split } from "../engine/engine-guard.js";
import type { Engines } from "../engine/load.js";
import { callBack, refuse, SeenGuardError, type ErrorListener } from "../errors.js";
import type { BatchEnd, Count } from "../generated/client/seenguard.js";
import { countLatest, indicesOf, splitByIds, type ItemIdList } from "../input/ids.js";
import { ObservedItems } from "../observer/observer.js";
import type { OpenNamespace } from "../storage/clear.js";
import { hasLocal, nameOf } from "../storage/keys.js";
import { LatestSnapshot } from "../storage/snapshots.js";
import { NamespaceStorage } from "../storage/storage.js";
import { storeOf } from "../storage/custom.js";
import type { Store } from "../storage/port.js";
import type { ApplyResult, Explanation, GuardOptions, GuardStats, ItemId } from "../types/seenguard.js";
import { checkSnapshot } from "../input/snapshot.js";
import { EngineLife } from "./engine-life.js";
import type { OpenOptions } from "./options.js";
import type { Subscribers } from "./subscribers.js";
import { Tools } from "./tools.js";

/** The largest number that the engine accepts: no limit. */
const NO_LIMIT = 2 ** 32 - 1;

/** The headers of each request, and the most characters of both values together: servers refuse larger headers. */
const HELD = "Seen-Held";
const PENDING = "Seen-Pending";
const MAX_HEADER_CHARACTERS = 4_000;
/** How long `open` waits for the storage. Data that is read later is still merged. */
const OPEN_TIMEOUT_MS = 2_000;
/** How long `flush` waits for the storage. */
const FLUSH_TIMEOUT_MS = 10_000;
/** Without a cross-tab signal: how long delivery waits for a load, which finds clears, and their interval. */
const LOAD_TIMEOUT_MS = 1_000;
const LOAD_INTERVAL_MS = 60_000;

/** The listeners of one open handle. */
export interface Holder {
  readonly onError: ErrorListener;
  readonly onLag: GuardOptions["onLag"];
  readonly subscribers: Subscribers;
  /** Closes the handle; delivers undelivered impressions first, for at most this time. */
  readonly close: (timeoutMs: number) => Promise<void>;
}

type Refusal = Extract<ApplyResult, { applied: false }>;

/** A namespace that was never started lets everything pass. */
export class Namespace implements OpenNamespace {
  readonly options: OpenOptions;
  readonly engines: Engines;
  readonly clock: Clock;
  readonly holders = new Set<Holder>();
  readonly engine = new EngineLife(this);
  readonly tools = new Tools((id) => this.explain(id));
  readonly observed = new ObservedItems();
  /** The `unseenRevision` at the latest notification of subscribers. */
  private notifiedRevision = 0;
  /** Undefined: the namespace is not stored. */
  readonly store: Store | undefined;
  private storage: NamespaceStorage | undefined;
  private snapshot: LatestSnapshot | undefined;
  /** The generation while there is no `storage`. */
  private clearedAt = 0;
  private loadedMs = -Infinity;
  /** Messages of `too-large`: each is reported once. */
  private readonly reported = new Set<string>();
  reporter: Reporter | undefined;

  constructor(options: OpenOptions, engines: Engines) {
    this.options = options;
    this.engines = engines;
    this.clock = options[CLOCK] ?? deviceClock;
    this.store = storeOf(options.storage);
  }

  openStorage(): void {
    const { store, clock, report } = this;
    const listeners = { report, onRead: this.noteChanges, onReset: this.reset };
    const name = nameOf(this.options.namespace);
    // Without the signal, the clears of an earlier storage would look like clears of what is recorded from now on.
    this.storage ??= store && new NamespaceStorage(store, name, this.clearedAt, clock, listeners);
  }

  stopStorage(): void {
    const { storage } = this;
    if (!storage) return;
    storage.stop();
    // To a feed a higher generation is a clear, so it must not rise when an engine, and with it a storage, loads late.
    this.clearedAt = Math.max(this.clearedAt, storage.context.generation);
    this.storage = undefined;
  }

  attach(guard: EngineGuard): void {
    this.openStorage();
    if (this.reporter?.isOn) guard.call((each) => each.startReporting());
    this.snapshot = new LatestSnapshot(guard);
    this.storage?.attach(guard, this.snapshot);
  }

  async whenLoaded(): Promise<void> {
    const { storage } = this;
    if (storage) {
      await withTimeout(OPEN_TIMEOUT_MS, storage.loader.first);
      storage.opened();
    }
    // For an engine that loads late.
    this.notifySubscribers();
  }

  /** The guard in the engine; `undefined`: there is no engine, and everything passes. */
  private get guard(): EngineGuard | undefined {
    return this.engine.guard;
  }

  readonly report = (error: SeenGuardError): void => {
    for (const { onError } of this.holders) callBack(onError, error);
  };

  private reportTooLarge(message: string): void {
    if (this.reported.has(message)) return;
    this.reported.add(message);
    this.report(new SeenGuardError("too-large", message));
  }

  apply(snapshot: unknown): ApplyResult {
    try {
      const { guard } = this;
      const checked = guard && checkSnapshot(snapshot, this.engines.readShards);
      const listeners = [...this.holders].flatMap(({ onLag }) => onLag ?? []);
      const withLags = listeners.length > 0 || this.tools.areListening;
      const outcome = checked && guard.apply(checked, false, withLags);
      if (!outcome) return refused("no-engine");
      if (outcome.reason) return refused(outcome.reason);
      this.snapshot?.note(checked, this.clock.wallMs());
      this.storage?.saver.changed();
      this.storage?.snapshots.changed();
      if (outcome.isSaturated)
        this.reportTooLarge(
          "the server's shards are too full and stop most fresh items: make larger ones, or send none",
        );
      for (const { id, lagMs } of outcome.lags) for (const onLag of listeners) callBack(onLag, lagMs, id);
      this.noteChanges();
      this.tools.applied({ shards: checked.shards, lagsMs: outcome.lags.map(({ lagMs }) => lagMs) });
      return { applied: true, covered: outcome.covered };
    } catch (cause) {
      const error = cause as SeenGuardError;
      // A page may have no snapshot.
      if (snapshot !== undefined && snapshot !== null) this.report(error);
      return { ...refused("invalid"), error };
    }
  }

  /** The indices of the fresh items and, if `withSeen`, of the seen ones, those seen longest ago first. */
  split(list: ItemIdList, withSeen: boolean): Split {
    const split = this.isTooLong(list) ? { fresh: indicesOf(list), seen: [] } : this.splitShort(list, withSeen);
    if (split) this.tools.decided(list, split.fresh);
    return split ?? splitByIds(list, []);
  }

  private splitShort(list: ItemIdList, withSeen: boolean): Split | undefined {
    const split = this.guard?.split(list.ids, withSeen || list.ends !== undefined);
    return split && list.ends ? splitByIds(list, split.seen) : split;
  }

  private isTooLong({ ids }: ItemIdList): boolean {
    const isTooLong = countLatest(ids) < ids.length;
    if (isTooLong) this.reportTooLarge("a list of over 20,000 ids or 1 MB passes whole: filter shorter lists");
    return isTooLong;
  }

  /** Records ids. Returns how many of them were not known here or, of unseen ones, were stopped. */
  record(ids: readonly ItemId[], recording: Recording): number {
    const { guard, engine } = this;
    if (!guard) engine.recordLater(ids, recording);
    if (!guard || ids.length === 0) return 0;
    const recorded = guard.record(this.latest(ids), recording);
    if (!recorded) return 0;
    if (recorded.dropped > 0)
      this.reportTooLarge(
        "too many impressions are pending, and the oldest were dropped from the list: deliver them with `report`",
      );
    this.recorded();
    if (recording === "Unseen") this.noteChanges();
    return recorded.count;
  }

  /** Notifies subscribers if an id has become unseen or was deleted. */
  private readonly noteChanges = (): void => {
    if (this.notifiedRevision !== this.unseenRevision) this.notifySubscribers();
  };

  private notifySubscribers(): void {
    this.notifiedRevision = this.unseenRevision;
    for (const { subscribers } of this.holders) subscribers.notify();
  }

  /** The ids, or the last ones of a list that is too long. */
  private latest(ids: readonly ItemId[]): readonly ItemId[] {
    const count = countLatest(ids);
    if (count === ids.length) return ids;
    this.reportTooLarge(
      `only the last ${count} ids of a list of over 20,000 ids or 1 MB are recorded: record shorter lists`,
    );
    return ids.slice(-count);
  }

  /** Notifies the storage and the reporter of new data. */
  recorded(): void {
    this.storage?.saver.changed();
    this.reporter?.recorded();
  }

  /** The indices of the ids that pass because they are unseen or the history was deleted. */
  unseen(ids: readonly ItemId[]): Indices {
    const latest = ids.slice(-countLatest(ids));
    const before = ids.length - latest.length;
    return Array.from(this.guard?.unseen(latest) ?? [], (index) => before + index);
  }

  /** Grows when an id becomes unseen or is forgotten: here, in another tab or by the server. */
  get unseenRevision(): number {
    return this.count("UnseenRevision");
  }

  /** The generation of the latest known clear; 0: none. */
  get generation(): number {
    this.storage?.context.readSignal();
    return this.storage?.context.generation ?? this.clearedAt;
  }

  /** Applies a clear by this document: memory is cleared at once; `keeps`: except impressions recorded since. */
  cleared(generation: number, keeps: boolean): void {
    if (this.storage) this.storage.learn(generation, keeps);
    else {
      this.clearedAt = generation;
      this.guard?.call((guard) => guard.reset(keeps));
      this.reset(keeps);
      this.noteChanges();
    }
  }

  private readonly reset = (keeps: boolean): void => {
    if (!keeps) this.engine.forget();
    this.snapshot?.forget();
  };

  /** Loads where there is no cross-tab signal, to find clears. Resolves when delivery may continue. */
  loadBefore(): Promise<unknown> | undefined {
    const { storage, store, clock } = this;
    if (!storage || hasLocal()) return undefined;
    const wallMs = clock.wallMs();
    // After a clock jump in either direction the elapsed time is unknown: check again.
    if (store?.kind === "custom" && Math.abs(wallMs - this.loadedMs) < LOAD_INTERVAL_MS) return undefined;
    this.loadedMs = wallMs;
    return withTimeout(LOAD_TIMEOUT_MS, storage.loader.load());
  }

  /** How many impressions and unseen ids were never delivered and are in no batch. */
  get undelivered(): number {
    return this.count("Undelivered");
  }

  private count(what: keyof typeof Count): number {
    return this.guard?.count(what) ?? 0;
  }

  explain(id: ItemId): Explanation {
    return this.guard?.explain(id) ?? { seen: false };
  }

  pending(limit?: number): string[] {
    this.storage?.context.readSignal();
    return this.guard?.pending(limitOf(limit)) ?? [];
  }

  /** The headers of a request for a page. */
  headers(): Record<string, string> {
    this.storage?.context.readSignal();
    const held = this.guard?.held() ?? "";
    const pending = this.pendingList(MAX_HEADER_CHARACTERS - held.length);
    // Without a name and ids the header would be useless, and cost a preflight request.
    const isEmpty = /^$|^\..*\.$/.test(pending);
    return { ...(held !== "" && { [HELD]: held }), ...(!isEmpty && { [PENDING]: pending }) };
  }

  /** The value of `Seen-Pending`: the device's name and its pending impressions, 1,000 ids at most. */
  pendingList(maxCharacters?: number): string {
    return this.guard?.pendingList(limitOf(maxCharacters)) ?? "";
  }

  stats(): GuardStats {
    const engine = this.guard?.kind ?? "none";
    const storage = this.storage?.state ?? "none";
    const [pending = 0, undelivered = 0, remembered = 0, serverFalsePositiveRate = 0, latest = NaN] =
      this.guard?.stats() ?? [];
    const version = Number.isNaN(latest) ? undefined : latest;
    const known = { version, pending, undelivered, remembered, serverFalsePositiveRate };
    return { engine, storage, ...known, failingSince: this.reporter?.failingSince };
  }

  /**
   * Begins a batch. It includes impressions of earlier visits if `reason` is "deliver", or some seconds after the page
   * was opened while it is visible.
   */
  beginBatch(maxEntries: number, maxBytes: number, reason: Reason): Batch | undefined {
    // Reading the generation applies a clear by another tab, so the batch contains nothing that was cleared.
    const { guard, generation, storage } = this;
    const includesFound = reason === "deliver" || !storage || storage.deliversFound;
    const batch = guard?.beginBatch(maxEntries, maxBytes, reason === "hide" ? "Hiding" : includesFound ? "All" : "Own");
    if (!guard || !batch) return undefined;
    const isCurrent = () => this.generation === generation;
    const exists = () => isCurrent() && this.guard === guard;
    // Ends it in the guard that began it: after a trap another guard has other batches.
    const end = (how: keyof typeof BatchEnd) => {
      guard.endBatch(batch.batch, how);
      this.storage?.saver.changed();
    };
    return { ...batch, isCurrent, exists, end };
  }

  /** Delivers impressions until the returned function is called. The reporter stays, with its address's retry delay. */
  startReport(options: CheckedReportOptions): () => void {
    if (!this.engine.isOpen || addressOf(options) === "") return () => {};
    let { reporter } = this;
    if (reporter?.address !== addressOf(options)) {
      if (reporter?.isOn) refuse(`the namespace has a report already, to ${reporter.address}: stop it first`);
      this.reporter = reporter = new Reporter(this, options, this.clock);
    }
    const stop = reporter.start(options);
    this.guard?.call((guard) => guard.startReporting());
    // From now on recordings are marked as to be delivered, and the mark is stored.
    this.storage?.saver.changed();
    return stop;
  }

  /** Delivers at once until nothing is left, a batch fails or the timeout. 0: delivers nothing. */
  async deliver(timeoutMs: number): Promise<{ delivered: number; left: number }> {
    const { reporter } = this;
    const before = reporter?.delivered ?? 0;
    if (timeoutMs > 0) await reporter?.deliver(timeoutMs);
    return { delivered: (reporter?.delivered ?? 0) - before, left: this.undelivered + (reporter?.waiting ?? 0) };
  }

  /** Resolves when everything recorded so far is stored, or when storing it has failed and was reported. */
  async flush(timeoutMs = FLUSH_TIMEOUT_MS): Promise<void> {
    if (this.storage && this.guard) await withTimeout(timeoutMs, this.storage.flush());
  }
}

/** A limit as the engine's argument; without a number there is no limit. */
function limitOf(limit: number | undefined): number {
  return typeof limit === "number" && limit >= 0 ? Math.min(limit, NO_LIMIT) : NO_LIMIT;
}

/** The result for a snapshot that was not applied. */
export function refused(reason: Refusal["reason"]): Refusal {
  return { applied: false, reason };
}
