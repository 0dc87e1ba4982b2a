/**
 * The guard of one namespace in one document, for all its holders: the engine's guard, its storage, its reporters, and
 * the listeners to errors.
 *
 * Whatever fails here fails open: without an engine, after a trap and once closed everything passes.
 */
import { CLOCK, deviceClock, type Clock } from "../clock.js";
import { Reporter } from "../delivery/reporter.js";
import type { EngineKind } from "../engine/engine.js";
import { EngineGuard, unlessOutOfMemory } from "../engine/engine-guard.js";
import type {
  ApplyOutcome,
  Batch,
  EngineExplanation,
  EngineStats,
  FreshIndices,
  RecordOutcome,
  SplitIndices,
} from "../engine/engine-types.js";
import type { Engines } from "../engine/load.js";
import { callBack, SeenGuardError, type ErrorListener } from "../errors.js";
import { countItems, firstOfEach, idsOfItem, type ItemIdList } from "../ids.js";
import type { OpenNamespace } from "../storage/cleaning.js";
import { connect, useConnection } from "../storage/indexeddb.js";
import { hasLocal, nameOf, prefixOf } from "../storage/keys.js";
import { StoragePerformer } from "../storage/performer.js";
import { choiceOf, placeOf, type StorageChoice } from "../storage/places.js";
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
import { LatestSnapshot } from "./stored-snapshot.js";

/** The engine's largest number. */
const NO_LIMIT = 2 ** 32 - 1;

/** The names of what goes with each request, and how many characters both values have at most: servers refuse more. */
const HELD = "Seen-Held";
const PENDING = "Seen-Pending";
const MAX_HEADER_CHARACTERS = 4_000;
/** How long `open` waits for a storage that does not answer; what it holds is taken over when it does. */
const OPEN_TIMEOUT_MS = 2_000;
/** How long `flush` does. */
const FLUSH_TIMEOUT_MS = 10_000;
/** How long delivery waits to hear of a clear where no signal tells of one, and how often it asks a store of the app's. */
const LOOK_TIMEOUT_MS = 1_000;
const LOOK_INTERVAL_MS = 60_000;

/** A holder of a guard: what it wants to be told. */
export interface GuardUser {
  readonly onError: ErrorListener;
  readonly onLag: GuardOptions["onLag"];
}

/** One that was never started lets everything pass. */
export class GuardCore implements OpenNamespace {
  readonly options: OpenOptions;
  readonly engines: Engines;
  readonly clock: Clock;
  readonly users = new Set<GuardUser>();
  /** The listeners to each decision. */
  readonly watchers = new Set<(decision: Decision) => void>();
  /** What each `open` waits for. */
  started = Promise.resolve();
  /** Whether the engine was lost, or never to be had: the next `open` makes a new core. */
  hasFailed = false;
  private hasRestarted = false;
  private isFreed = false;
  /** Where the namespace is kept. */
  readonly choice: StorageChoice | undefined;
  private engineKind: EngineKind | "none" = "none";
  private guard: EngineGuard | undefined;
  private performer: StoragePerformer | undefined;
  private readonly snapshot: LatestSnapshot;
  private lookedMs = -Infinity;
  /** What is reported once, until there is room again. */
  private isTooLarge = false;
  private isOutOfMemory = false;
  private isSaturated = false;
  private readonly reporters = new Set<Reporter>();

  constructor(options: OpenOptions, engines: Engines) {
    this.options = options;
    this.engines = engines;
    this.clock = options[CLOCK] ?? deviceClock;
    this.choice = choiceOf(options.storage);
    this.snapshot = new LatestSnapshot(() => this.guard);
  }

  /** Loads the engine and what is stored. Rejects for wrong options alone. */
  async start(): Promise<void> {
    // The engine and the storage take their time, and neither needs the other.
    const release = this.choice === "indexeddb" ? useConnection() : () => {};
    if (this.choice === "indexeddb") connect(() => {});
    try {
      await this.startEngine();
    } finally {
      release();
    }
    const { performer } = this;
    if (!performer) return;
    await withTimeout(OPEN_TIMEOUT_MS, performer.begin());
    performer.opened();
  }

  private async startEngine(): Promise<void> {
    try {
      const { choice, clock, options, report } = this;
      const engine = await this.engines.load(options);
      if (this.isFreed) return;
      this.engineKind = engine.kind;
      engine.onTrap.add(this.onFailure);
      this.stopListening = () => engine.onTrap.delete(this.onFailure);
      const name = nameOf(options.namespace);
      const guard = new EngineGuard(engine, { ...options, prefix: prefixOf(name), place: placeOf(choice) }, clock);
      if (!guard.isAlive) return;
      this.guard = guard;
      if (choice === undefined) return;
      this.performer = new StoragePerformer(guard, choice, name, this.snapshot, clock, report);
    } catch (cause) {
      const error = cause as SeenGuardError;
      if (error.code === "bad-option") throw error;
      // There is none to be had.
      this.hasRestarted = true;
      this.onFailure(error);
    }
  }

  private stopListening = (): void => {};

  private readonly onFailure = (error: SeenGuardError): void => {
    this.performer?.stop();
    [this.guard, this.performer] = [undefined, undefined];
    this.stopListening();
    this.hasFailed = this.hasRestarted;
    this.report(error);
    if (this.hasFailed) return;
    // A fresh engine takes the place of the one that has trapped, once, and begins with what is stored.
    this.hasRestarted = true;
    this.started = this.start().then(() => {
      if (this.reporters.size > 0) this.call((guard) => guard.startReporting());
    });
  };

  /** Whether there is anything that could stop an item. */
  get isAlive(): boolean {
    return this.guard?.isAlive ?? false;
  }

  readonly report = (error: SeenGuardError): void => {
    for (const { onError } of this.users) callBack(onError, error);
  };

  /** Calls into the engine; `undefined`: there is none. */
  private call<T>(run: Parameters<typeof EngineGuard.prototype.call<T>>[0]): T | undefined {
    return this.guard?.call(run);
  }

  apply(snapshot: unknown): ApplyReport {
    if (!this.guard) return refused("no-engine");
    try {
      const checked = checkSnapshot(snapshot, this.engines.readShards);
      const outcome = this.guard.apply(checked, false) as ApplyOutcome | undefined;
      if (!outcome) return refused("no-engine");
      const { lags, reason, saturated, ...counts } = outcome;
      if (!reason) this.snapshot.note(checked, this.clock.wallMs());
      if (!reason) this.performer?.changed();
      this.noteSaturation(saturated);
      for (const { id, lagMs } of lags) for (const { onLag } of this.users) callBack(onLag, lagMs, id);
      return { ...(reason ? refused(reason) : { applied: true }), ...counts };
    } catch (cause) {
      const error = cause as SeenGuardError;
      // A page without a snapshot is nothing wrong.
      if (snapshot !== undefined && snapshot !== null) this.report(error);
      return { ...refused("invalid"), error, shards: this.call((guard) => guard.shards) ?? 0 };
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
  fresh(list: ItemIdList): FreshIndices | undefined {
    if (!this.guard) return undefined;
    const fresh = this.filter(this.guard, list);
    this.tellWatchers(list, fresh);
    return fresh;
  }

  private filter(engineGuard: EngineGuard, list: ItemIdList): FreshIndices | undefined {
    // Items in different parts may be duplicates of each other in turn: only all of them together tell.
    if (list.ends) return this.splitAll(engineGuard, list)?.fresh;
    const { writer } = engineGuard.engine;
    const fresh: FreshIndices[] = [];
    let lost = 0;
    const isDone = engineGuard.callWithParts(
      list.ids,
      (guard, batch, wallMs) => {
        const count = guard.filter(batch, wallMs);
        return count === undefined ? undefined : writer.indices(count);
      },
      (indices, start, end) => {
        if (!indices) lost += end - start;
        const passed = indices ?? new Array<undefined>(end - start).keys();
        fresh.push(start === 0 && indices ? indices : Array.from(passed, (index) => start + index));
      },
    );
    if (!isDone) return undefined;
    this.noteMemory(lost > 0);
    const [first = [], ...others] = fresh;
    if (lost === 0 && others.length === 0) return first;
    return firstOfEach(
      list,
      [first, ...others].flatMap((part) => Array.from(part)),
    );
  }

  /** The same, and the indices of the others, those seen longest ago first. */
  split(list: ItemIdList): SplitIndices | undefined {
    if (!this.guard) return undefined;
    const split = this.splitAll(this.guard, list);
    this.tellWatchers(list, split?.fresh);
    return split;
  }

  private splitAll(engineGuard: EngineGuard, list: ItemIdList): SplitIndices | undefined {
    const { writer } = engineGuard.engine;
    const passing: SplitIndices = { fresh: [], seen: [] };
    const split = engineGuard.call((guard, wallMs) => {
      const fresh = writer.writeAllItems(list) && unlessOutOfMemory(() => guard.split(writer.batch, wallMs));
      if (typeof fresh !== "number") return passing;
      const all = writer.indices(writer.batch.answered());
      writer.done();
      return { fresh: all.subarray(0, fresh), seen: all.subarray(fresh) };
    });
    if (!split) return undefined;
    this.noteMemory(split === passing);
    return split === passing ? { fresh: firstOfEach(list), seen: [] } : split;
  }

  /** Items that there is no memory for pass. */
  private noteMemory(isOut: boolean): void {
    if (isOut && !this.isOutOfMemory) {
      this.report(new SeenGuardError("out-of-memory", "there is no memory for so many or so long ids: they pass"));
    }
    this.isOutOfMemory = isOut;
  }

  /** Once the caller has its answer: no watcher changes what `filter` returns. */
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

  record(ids: readonly ItemId[], isLocal: boolean): number {
    let [unknown, lostText, lost] = [0, 0, 0];
    const isDone = this.guard?.callWithParts(
      ids,
      (guard, batch, wallMs) => guard.record(batch, isLocal, wallMs) as RecordOutcome,
      (outcome, start, end) => {
        if (!outcome) lost += end - start;
        unknown += outcome?.unknown ?? 0;
        lostText += outcome?.lostText ?? 0;
      },
    );
    if (!isDone || ids.length === 0) return 0;
    this.tellLost(lost, ids, "impressions: they are not recorded");
    if (lostText > 0 && !this.isTooLarge) {
      const message = "too many impressions are pending: the oldest are still stopped, but no longer pending";
      this.report(new SeenGuardError("too-large", message));
      this.isTooLarge = true;
    }
    this.recorded();
    return unknown;
  }

  unsee(ids: readonly ItemId[]): number {
    let [stopped, lost] = [0, 0];
    const isDone = this.guard?.callWithParts(
      ids,
      (guard, batch, wallMs) => guard.unsee(batch, wallMs),
      (count, start, end) => {
        if (count === undefined) lost += end - start;
        else stopped += count;
      },
    );
    if (!isDone || ids.length === 0) return 0;
    this.tellLost(lost, ids, "ids: they are not taken back");
    this.recorded();
    return stopped;
  }

  private tellLost(lost: number, ids: readonly ItemId[], what: string): void {
    if (lost === 0) return;
    this.report(new SeenGuardError("out-of-memory", `there is no memory for ${lost} of ${ids.length} ${what}`));
  }

  /** There is something to be stored and delivered. */
  private recorded(): void {
    this.performer?.changed();
    const { undelivered } = this;
    for (const reporter of this.reporters) reporter.recorded(undelivered);
  }

  /** The indices of the ids that pass because they were taken back, or, once the history was deleted, at all. */
  takenBack(ids: readonly ItemId[]): number[] {
    const taken: number[] = [];
    this.guard?.callWithParts(
      ids,
      (guard, batch, wallMs) => {
        const count = guard.takenBack(batch, wallMs);
        return count === undefined ? undefined : this.guard?.engine.writer.indices(count);
      },
      (indices = new Uint32Array(0), start) => {
        for (const index of indices) taken.push(start + index);
      },
    );
    return taken;
  }

  /** Grows whenever something was taken back or forgotten, here, in another tab or by the server. */
  get unseenRevision(): number {
    return this.call((guard) => guard.unseenRevision) ?? 0;
  }

  held(): string {
    return this.call((guard) => guard.held()) ?? "";
  }

  /** The number of the namespace's latest clear, as far as is known; 0: none. */
  get number(): number {
    this.performer?.hear();
    return this.call((guard) => guard.number) ?? 0;
  }

  /** A clear of this document: what is in memory is forgotten at once, but what was recorded since if it `keeps`. */
  cleared(number: number, keeps: boolean): void {
    if (this.performer) this.performer.clear(number, keeps);
    else this.call((guard) => guard.clear(number, keeps));
  }

  /** Where no signal tells of a clear: resolves when delivery may go on. */
  lookBefore(): Promise<unknown> | undefined {
    const { performer, choice, clock } = this;
    if (!performer || hasLocal()) return undefined;
    const wallMs = clock.wallMs();
    // A clock that has jumped back says nothing of how long ago it was.
    if (typeof choice !== "string" && Math.abs(wallMs - this.lookedMs) < LOOK_INTERVAL_MS) return undefined;
    this.lookedMs = wallMs;
    return withTimeout(LOOK_TIMEOUT_MS, performer.look());
  }

  private get undelivered(): number {
    return this.call((guard) => guard.undelivered) ?? 0;
  }

  explain(id: ItemId): Explanation {
    let explanation: EngineExplanation | undefined;
    this.guard?.callWithParts(
      [id],
      (guard, batch, wallMs) => guard.explain(batch, wallMs) as EngineExplanation | undefined,
      (found) => (explanation = found),
    );
    if (!explanation) return { seen: false };
    if (explanation.by !== "server") return { seen: true, by: explanation.by, at: new Date(explanation.at) };
    const { shard, epoch } = explanation;
    return { seen: true, by: "server", shard, ...(epoch === undefined ? {} : { epoch }) };
  }

  pending(limit?: number): string[] {
    this.performer?.hear();
    return this.call((guard, wallMs) => guard.pending(limitOf(limit), wallMs)) ?? [];
  }

  /** What goes with each request for a page. */
  headers(): Record<string, string> {
    this.performer?.hear();
    const held = this.held();
    const pending = this.devicePending(MAX_HEADER_CHARACTERS - held.length);
    return { ...(held !== "" && { [HELD]: held }), [PENDING]: pending };
  }

  /** What this device tells of its pending impressions: its name and a list; 1,000 ids at most. */
  devicePending(maxCharacters?: number): string {
    const pending = () => this.call((guard, wallMs) => guard.devicePending(limitOf(maxCharacters), wallMs));
    return unlessOutOfMemory(pending) ?? "";
  }

  get version(): number | undefined {
    return this.call((guard) => guard.version);
  }

  stats(): GuardStats {
    const stats = this.call((guard, wallMs) => guard.stats(wallMs) as EngineStats) ?? noStats();
    return {
      ...stats,
      engine: this.isAlive ? this.engineKind : "none",
      storage: this.performer?.storage ?? "none",
    };
  }

  beginBatch(maxImpressions: number, maxBytes: number): Batch {
    const batch = this.call((guard, wallMs) => guard.beginBatch(maxImpressions, maxBytes, wallMs) as Batch);
    return batch ?? { batch: 0, impressions: [], unseen: [] };
  }

  /** Ends a batch that was to be delivered. */
  endBatch(batch: number, arrived: boolean): void {
    this.call((guard, wallMs) => guard.endBatch(batch, arrived, wallMs));
    if (arrived) this.performer?.changed();
  }

  /** Delivers impressions as long as the reporter runs. Several share the work. */
  addReporter(options: CheckedReportOptions): Reporter | undefined {
    if (!this.isAlive) return undefined;
    const reporter = new Reporter(this, options, this.clock);
    this.reporters.add(reporter);
    this.call((guard) => guard.startReporting());
    // What is to be delivered from now on is so on the next visit, too.
    this.performer?.changed();
    return reporter;
  }

  removeReporter(reporter: Reporter): void {
    reporter.stop();
    this.reporters.delete(reporter);
  }

  /** Delivers at once what waits, until nothing is left, a batch has failed or the time is over. */
  async deliver(timeoutMs: number): Promise<{ delivered: number; left: number }> {
    const reporters = [...this.reporters];
    const sum = (of: "delivered" | "underWay") => reporters.reduce((total, reporter) => total + reporter[of], 0);
    const before = sum("delivered");
    await withTimeout(timeoutMs, Promise.all(reporters.map((reporter) => reporter.deliverNow())));
    return { delivered: sum("delivered") - before, left: this.undelivered + sum("underWay") };
  }

  /** Resolves when everything recorded so far is in storage, or cannot be written now, which is reported. */
  async flush(timeoutMs = FLUSH_TIMEOUT_MS): Promise<void> {
    if (this.performer && this.isAlive) await withTimeout(timeoutMs, this.performer.flush());
  }

  /** Gives the memory back: afterwards everything passes. */
  free(): void {
    this.isFreed = true;
    this.performer?.stop();
    this.stopListening();
    this.guard?.free();
    this.guard = undefined;
  }
}

/** A limit as the engine takes it; what is no number limits nothing. */
function limitOf(limit: number | undefined): number {
  return typeof limit === "number" && limit >= 0 ? Math.min(limit, NO_LIMIT) : NO_LIMIT;
}

/** The report of a snapshot that was not taken. */
export function refused(reason: NonNullable<ApplyReport["reason"]>): ApplyReport {
  return { applied: false, reason, shards: 0, reused: 0, expired: 0, covered: 0 };
}

function noStats(): EngineStats {
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
