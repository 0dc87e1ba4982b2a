/**
 * What the holders of one namespace in one document share: the engine's guard, its storage, its reporters, and who is
 * told what went wrong.
 *
 * Whatever fails here fails open: without an engine, after a trap and once closed everything passes.
 */
import { CLOCK, deviceClock, type Clock } from "../clock.js";
import { Reporter } from "../delivery/reporter.js";
import type { EngineKind } from "../engine/engine.js";
import { loadEngine } from "../engine/load.js";
import { callBack, SeenGuardError, type ErrorListener } from "../errors.js";
import { countItems, idsOfItem, type ItemIdList } from "../ids.js";
import { Persistence } from "../storage/persistence.js";
import { placesOf, type Place } from "../storage/store.js";
import { withTimeout } from "../timeouts.js";
import type {
  ApplyReport,
  Decision,
  Explanation,
  GuardOptions,
  GuardStats,
  ItemId,
  StoppedItem,
} from "../types/seenguard.js";
import type { CheckedReportOptions, OpenOptions } from "./options.js";
import { checkSnapshot } from "./snapshot.js";
import type { Batch, FreshIndices, SplitIndices } from "./engine-types.js";
import { WasmGuard } from "./wasm-guard.js";

/** How long `open` waits for a storage that does not answer; what it holds is taken over when it does. */
const OPEN_TIMEOUT_MS = 2_000;
/** How long `flush` does. */
const FLUSH_TIMEOUT_MS = 10_000;

/** Who holds a guard open: what it wants to be told. */
export interface Holder {
  readonly onError: ErrorListener;
  readonly onLag: GuardOptions["onLag"];
}

/** One that was never started lets everything pass. */
export class GuardCore {
  readonly options: OpenOptions;
  readonly clock: Clock;
  readonly holders = new Set<Holder>();
  /** Who wants to hear of each decision. */
  readonly watchers = new Set<(decision: Decision) => void>();
  /** What the first one to open waits for, and whoever comes meanwhile. */
  started = Promise.resolve();
  /** Whether the engine was lost, or never to be had: the next `open` makes a new core. */
  hasFailed = false;
  private readonly places: readonly Place[];
  private engineKind: EngineKind | "none" = "none";
  private guard: WasmGuard | undefined;
  private persistence: Persistence | undefined;
  private loading: Promise<void> = Promise.resolve();
  private hasBackgroundWork = false;
  private withoutId = 0;
  /** What is reported once, until there is room again. */
  private isTooLarge = false;
  private isOutOfMemory = false;
  private isSaturated = false;
  private readonly reporters = new Set<Reporter>();

  constructor(options: OpenOptions) {
    this.options = options;
    this.clock = options[CLOCK] ?? deviceClock;
    this.places = placesOf(options.storage);
  }

  /**
   * Loads the engine and what is stored, once `cleared` has settled: clearings of this namespace that were called
   * before. Rejects for wrong options alone.
   */
  async start(cleared: Promise<void> | undefined): Promise<void> {
    // The engine and the storage take their time, and neither needs the other.
    const persistence = (this.persistence = new Persistence(this.places, this));
    try {
      const engine = await loadEngine(this.options.engine, this.options.wasm);
      this.engineKind = engine.kind;
      engine.onTrap.add(this.onFailure);
      this.stopListening = () => engine.onTrap.delete(this.onFailure);
      this.guard = new WasmGuard(engine, this.options.windowDays, this.options.remember, this.clock);
    } catch (cause) {
      const error = cause as SeenGuardError;
      if (error.code === "bad-option") throw error;
      this.onFailure(error);
      return;
    }
    if (!this.isAlive) return;
    this.loading = persistence.load(this.guard, cleared);
    if (!(await withTimeout(OPEN_TIMEOUT_MS, this.loading))) persistence.timedOut();
  }

  private stopListening = (): void => {};

  private readonly onFailure = (error: SeenGuardError): void => {
    this.guard = undefined;
    this.hasFailed = true;
    this.persistence?.stop();
    this.report(error);
  };

  /** Starts background work, once what is stored is loaded: writing, listening to other tabs, idle cleanup. */
  startBackgroundWork(): void {
    if (this.hasBackgroundWork) return;
    this.hasBackgroundWork = true;
    void this.loading.then(() => this.persistence?.startBackgroundWork());
  }

  /** Whether there is anything that could stop an item. */
  get isAlive(): boolean {
    return this.guard?.isAlive ?? false;
  }

  report(error: SeenGuardError): void {
    for (const { onError } of this.holders) callBack(onError, error);
  }

  apply(snapshot: unknown): ApplyReport {
    if (!this.guard) return refused("no-engine");
    try {
      const outcome = this.guard.apply(checkSnapshot(snapshot));
      if (!outcome) return refused("no-engine");
      const { lags, reason, saturated, ...counts } = outcome;
      if (!reason) this.persistence?.snapshotChanged();
      this.noteSaturation(saturated);
      for (const { id, lagMs } of lags) for (const { onLag } of this.holders) callBack(onLag, lagMs, id);
      return { ...(reason ? refused(reason) : { applied: true }), ...counts };
    } catch (cause) {
      const error = cause as SeenGuardError;
      // A page without a snapshot is nothing wrong.
      if (snapshot !== undefined && snapshot !== null) this.report(error);
      return { ...refused("invalid"), error, shards: this.guard.shards };
    }
  }

  private noteSaturation(isSaturated: boolean): void {
    if (isSaturated && !this.isSaturated) {
      const rate = Math.round(100 * this.stats().serverFalsePositiveRate);
      this.report(
        new SeenGuardError("too-large", `the server's shards are too full: they stop ${rate}% of fresh items`),
      );
    }
    this.isSaturated = isSaturated;
  }

  /** The indices of the fresh items; `undefined`: there is no engine, and everything passes. */
  fresh(list: ItemIdList, withoutId: number): FreshIndices | undefined {
    const fresh = this.judge(withoutId, (guard, onOutOfMemory) => guard.filter(list, onOutOfMemory));
    this.tellWatchers(list, fresh);
    return fresh;
  }

  /** The same, and the indices of the others, those seen longest ago first. */
  split(list: ItemIdList, withoutId: number): SplitIndices | undefined {
    const split = this.judge(withoutId, (guard, onOutOfMemory) => guard.split(list, onOutOfMemory));
    this.tellWatchers(list, split?.fresh);
    return split;
  }

  private judge<T>(withoutId: number, run: (guard: WasmGuard, onOutOfMemory: () => void) => T): T | undefined {
    if (!this.guard) return undefined;
    this.withoutId += withoutId;
    let failures = 0;
    const result = run(this.guard, () => {
      if (failures++ > 0 || this.isOutOfMemory) return;
      this.report(new SeenGuardError("out-of-memory", "there is no memory for so many or so long ids: they pass"));
      this.isOutOfMemory = true;
    });
    if (failures === 0) this.isOutOfMemory = false;
    return result;
  }

  /** Once the caller has its answer: `filter` stays pure, whatever a watcher does. */
  private tellWatchers(list: ItemIdList, fresh: FreshIndices | undefined): void {
    const items = countItems(list);
    if (this.watchers.size === 0 || !fresh || items === 0) return;
    const passed = new Set(fresh);
    const indices = Array.from({ length: items }, (_, item) => item).filter((item) => !passed.has(item));
    const stopped = indices.map((item) => this.whyStopped(idsOfItem(list, item).map(String)));
    queueMicrotask(() => this.watchers.forEach((watcher) => callBack(watcher, { items, stopped })));
  }

  private whyStopped(ids: readonly string[]): StoppedItem {
    const [own = ""] = ids;
    const id = ids.find((each) => this.explain(each).seen) ?? own;
    return { ids, id, why: this.explain(id) };
  }

  record(ids: readonly ItemId[]): number {
    if (ids.length === 0) return 0;
    const outcome = this.guard?.record(ids);
    if (!outcome) return 0;
    const { unknown, lostText, undelivered, unrecorded } = outcome;
    if (unrecorded > 0) {
      const message = `there is no memory for ${unrecorded} of ${ids.length} impressions: they are not recorded`;
      this.report(new SeenGuardError("out-of-memory", message));
    }
    if (lostText > 0 && !this.isTooLarge) {
      const message = "too many impressions are pending: the oldest are still stopped, but no longer pending";
      this.report(new SeenGuardError("too-large", message));
      this.isTooLarge = true;
    }
    this.recorded(undelivered);
    return unknown;
  }

  unsee(ids: readonly ItemId[]): number {
    const { guard } = this;
    if (!guard || ids.length === 0) return 0;
    const { stopped, lost } = guard.unsee(ids);
    if (lost > 0) {
      const message = `there is no memory for ${lost} of ${ids.length} ids: they are not taken back`;
      this.report(new SeenGuardError("out-of-memory", message));
    }
    this.recorded(guard.undelivered);
    return stopped;
  }

  /** There is something to be stored and delivered. */
  private recorded(undelivered: number): void {
    this.persistence?.changed();
    for (const reporter of this.reporters) reporter.recorded(undelivered);
  }

  /** The indices of the ids that pass because they were taken back, or, once the history was deleted, at all. */
  takenBack(ids: readonly ItemId[]): number[] {
    return this.guard?.takenBack(ids) ?? [];
  }

  /** Grows whenever something was taken back or forgotten, here, in another tab or by the server. */
  get unseenRevision(): number {
    return this.guard?.unseenRevision ?? 0;
  }

  held(): string {
    return this.guard?.held() ?? "";
  }

  /** When the namespace was last cleared, as far as is known, Unix ms; 0: never. */
  get clearedAtMs(): number {
    return this.persistence?.clearedAtMs ?? 0;
  }

  explain(id: ItemId): Explanation {
    const explanation = this.guard?.explain(id);
    if (!explanation) return { seen: false };
    if (explanation.by !== "server") return { seen: true, by: explanation.by, at: new Date(explanation.at) };
    const { shard, epoch } = explanation;
    return { seen: true, by: "server", shard, ...(epoch === undefined ? {} : { epoch }) };
  }

  pending(limit?: number): string[] {
    return this.guard?.pending(limit) ?? [];
  }

  pendingShard(maxCharacters?: number): string {
    return this.guard?.pendingShard(maxCharacters) ?? "";
  }

  get version(): number | undefined {
    return this.guard?.version;
  }

  stats(): GuardStats {
    const stats = this.guard?.stats() ?? noStats();
    return {
      ...stats,
      engine: this.isAlive ? this.engineKind : "none",
      storage: this.persistence?.storage ?? "none",
      filtered: { ...stats.filtered, withoutId: this.withoutId },
    };
  }

  beginBatch(maxImpressions: number, maxBytes: number): Batch {
    return this.guard?.beginBatch(maxImpressions, maxBytes) ?? { batch: 0, impressions: [], unseen: [] };
  }

  /** Ends a batch that was to be delivered. */
  endBatch(batch: number, arrived: boolean): void {
    this.guard?.endBatch(batch, arrived);
    if (arrived) this.persistence?.changed();
  }

  /** Delivers impressions as long as the reporter runs. Returns stop. Several share the work. */
  addReporter(options: CheckedReportOptions): () => void {
    if (!this.isAlive) return () => {};
    const reporter = new Reporter(this, options, this.clock);
    this.reporters.add(reporter);
    this.guard?.startReporting();
    // What is to be delivered from now on is so on the next visit, too.
    this.persistence?.changed();
    return () => {
      reporter.stop();
      this.reporters.delete(reporter);
    };
  }

  /** Delivers at once what waits, until nothing is left, a batch has failed or the time is over. */
  async deliver(timeoutMs: number): Promise<{ delivered: number; left: number }> {
    const reporters = [...this.reporters];
    const sum = (of: "delivered" | "underWay") => reporters.reduce((total, reporter) => total + reporter[of], 0);
    const before = sum("delivered");
    await withTimeout(timeoutMs, Promise.all(reporters.map((reporter) => reporter.deliverNow())));
    return { delivered: sum("delivered") - before, left: (this.guard?.undelivered ?? 0) + sum("underWay") };
  }

  /** Resolves when everything recorded so far is in storage, or cannot be written now, which is reported. */
  async flush(timeoutMs = FLUSH_TIMEOUT_MS): Promise<void> {
    const { persistence, isAlive } = this;
    if (persistence && isAlive && !(await withTimeout(timeoutMs, persistence.flush()))) persistence.timedOut();
  }

  /** Whether this core keeps its impressions in a storage. */
  isKeptIn(place: Place): boolean {
    return this.persistence?.isKeptIn(place) ?? false;
  }

  /**
   * Forgets at once everything that this namespace has here in memory, then what is stored, once `others` has settled.
   * Rejects if either fails.
   */
  clear(clearedAtMs: number, others: Promise<void>): Promise<void> {
    this.guard?.clear();
    return this.persistence?.clear(clearedAtMs, others) ?? others;
  }

  /** Gives the memory back: afterwards everything passes. */
  free(): void {
    this.persistence?.stop();
    this.stopListening();
    this.guard?.free();
    this.guard = undefined;
  }
}

/** The report of a snapshot that was not taken. */
export function refused(reason: NonNullable<ApplyReport["reason"]>): ApplyReport {
  return { applied: false, reason, shards: 0, reused: 0, expired: 0, covered: 0 };
}

function noStats(): ReturnType<WasmGuard["stats"]> & object {
  return {
    shards: 0,
    serverFalsePositiveRate: 0,
    pending: 0,
    remembered: 0,
    filtered: { passed: 0, pending: 0, memory: 0, server: 0, duplicate: 0 },
    lag: { count: 0 },
    unseen: 0,
    received: { characters: 0, spared: 0 },
    bytes: 0,
  };
}
