/**
 * What the holders of one namespace in one document share: the guard in the Wasm module, its storage, and who is to be told what went wrong.
 *
 * Whatever fails here fails open: without an engine, after a trap and once closed everything passes.
 */
import { errorOf, idsOf, NO_ANSWER, readAnswer, type Answer } from "../answer.js";
import { APPLY, END_BATCH, EXPLAIN, FORGET, RECORD, SET_DELIVERING, STATS } from "../asked.js";
import { loadEngine, type Engine } from "../engine/engine.js";
import { callBack, SeenGuardError, type ErrorListener } from "../errors.js";
import type { CheckedReportOptions, OpenOptions } from "../options.js";
import { Reporter } from "../delivery/reporter.js";
import type {
  ApplyReport,
  Explanation,
  GuardOptions,
  GuardStats,
  ItemId,
  SeenGuardError as DeclaredError,
} from "../types/seenguard.js";
import { checkSnapshot } from "./snapshot.js";
import { Persistence } from "../storage/persistence.js";
import { openStore, placesOf, type Opening, type Place } from "../storage/store.js";
import { within } from "../timeouts.js";

/** How long `open` waits for a storage that does not answer; what it holds is taken over when it does. */
const STORAGE_PATIENCE_MS = 2_000;

/** Who holds a guard open: what it wants to be told. */
export interface Holder {
  readonly onError: ErrorListener;
  readonly onLag: GuardOptions["onLag"];
}

/** What the module's guard is asked with: what is left out is no number, what is true is 1. */
type Asked = [number, number, number, number, number, number];

/** One that was never started lets everything pass. */
export class GuardCore {
  readonly options: OpenOptions;
  readonly #places: readonly Place[];
  readonly holders = new Set<Holder>();
  /** What the first one to open waits for, and whoever comes meanwhile. */
  started = Promise.resolve();
  #engine: Engine | undefined;
  /** The guard's number there. */
  #guard: number | undefined;
  #persistence: Persistence | undefined;
  #loading: Promise<void> = Promise.resolve();
  #isSettled = false;
  #withoutId = 0;
  /** Whether the last impressions displaced others that were pending. */
  #isFull = false;
  readonly #reporters = new Set<Reporter>();
  /** Whether the engine was lost, or never to be had: whoever opens next begins anew. */
  hasFailed = false;

  constructor(options: OpenOptions) {
    this.options = options;
    this.#places = placesOf(options.storage);
  }

  /** Loads the module and what is stored. Rejects for wrong options alone. */
  async start(): Promise<void> {
    // Both take their time, and neither needs the other.
    const opening = openStore(this.#places);
    try {
      const engine = (this.#engine = await loadEngine(this.options.wasm));
      engine.onTrap.add(this.#failed);
      this.#guard = engine.call(() => engine.wasm.newGuard(this.options.windowDays));
    } catch (cause) {
      const error = cause as SeenGuardError;
      if (error.code === "bad-option") throw error;
      this.#failed(error);
      return;
    }
    this.#loading = this.#loadStorage(opening);
    await within(STORAGE_PATIENCE_MS, this.#loading);
  }

  readonly #failed = (error: SeenGuardError): void => {
    this.#guard = undefined;
    this.hasFailed = true;
    this.#persistence?.stop();
    this.report(error);
  };

  async #loadStorage(opening: Promise<Opening>): Promise<void> {
    const { store, keys, errors } = await opening;
    for (const error of errors) this.report(error);
    if (!store || !this.isAlive) return;
    this.#persistence = new Persistence(store, this);
    await this.#persistence.load(keys);
  }

  /** Begins, once what is stored is there, what nobody waits for. */
  settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    void this.#loading.then(() => this.#persistence?.settle());
  }

  /** Whether there is anything that could stop an item. */
  get isAlive(): boolean {
    return this.#guard !== undefined;
  }

  report(error: SeenGuardError): void {
    for (const { onError } of this.holders) callBack(onError, error);
  }

  /** Calls into the module with ids that are in its batch; `undefined`: without a guard, for want of memory, or after a trap. */
  #withBatch<T>(ids: readonly ItemId[], run: (engine: Engine, guard: number) => T): T | undefined {
    return this.#call((engine, guard) => {
      if (!engine.writer.write(ids)) return undefined;
      const result = run(engine, guard);
      engine.writer.done();
      return result;
    });
  }

  /** Calls into the module; `undefined`: without a guard, or after a trap. */
  #call<T>(run: (engine: Engine, guard: number) => T): T | undefined {
    const [engine, guard] = [this.#engine, this.#guard];
    return guard === undefined ? undefined : engine?.call(() => run(engine, guard));
  }

  /** Asks the module's guard something, about these texts if it takes any. */
  ask(question: number, texts: readonly ItemId[] = [], ...args: (number | boolean)[]): Answer {
    const ask = ({ wasm }: Engine, guard: number) =>
      readAnswer(wasm.memory, wasm.ask(guard, Date.now(), performance.now(), question, ...(args as Asked)));
    return this.#withBatch(texts, ask) ?? NO_ANSWER;
  }

  apply(snapshot: unknown): ApplyReport {
    if (!this.isAlive) return refused("no-engine");
    const checked = checkSnapshot(snapshot);
    if (checked instanceof SeenGuardError) {
      // A page without a snapshot is nothing wrong.
      if (snapshot !== undefined && snapshot !== null) this.report(checked);
      return { ...refused("invalid", checked), shards: this.stats().shards };
    }
    const { format, shards, version, nowMs } = checked;
    const wantsLags = [...this.holders].some(({ onLag }) => onLag);
    const answer = this.ask(APPLY, shards, ...format, version, nowMs, wantsLags);
    // The third number tells whether it was applied; but of one that is wrong, in which shard.
    const [held, expired = 0, isAppliedOrShard = 0, reused, covered = 0] = answer[0];
    if (held === undefined) return refused("no-engine");
    if (reused === undefined) {
      const error = errorOf(answer, isAppliedOrShard < 0 ? "" : `shard ${isAppliedOrShard}: `);
      this.report(error);
      return { ...refused("invalid", error), shards: held, expired };
    }
    if (covered > 0) this.#persistence?.covered();
    for (const [id, lagMs] of idsOf(answer)) for (const { onLag } of this.holders) callBack(onLag, lagMs, id);
    return {
      ...(isAppliedOrShard > 0 ? { applied: true } : refused("older-version")),
      ...{ shards: held, reused, expired, covered },
    };
  }

  /** The indices of the fresh ids, of equal ones the first; `undefined`: there is no engine, and everything passes. */
  fresh(ids: readonly ItemId[], withoutId: number): Uint32Array | undefined {
    return this.#withBatch(ids, ({ wasm, writer }, guard) => {
      this.#withoutId += withoutId;
      return writer.fresh(wasm.filter(guard, Date.now(), performance.now()));
    });
  }

  record(ids: readonly ItemId[]): number {
    if (ids.length === 0) return 0;
    const [[unknown = 0, displaced = 0, undelivered = 0]] = this.ask(RECORD, ids);
    // Once, until there is room again.
    if (displaced > 0 && !this.#isFull) {
      this.report(
        new SeenGuardError(
          "too-large",
          "too many impressions are pending: the oldest are still stopped, but no longer pending",
        ),
      );
    }
    this.#isFull = displaced > 0;
    this.#persistence?.changed();
    for (const reporter of this.#reporters) reporter.recorded(undelivered);
    return unknown;
  }

  explain(id: ItemId): Explanation {
    const [[by, first = 0, epoch]] = this.ask(EXPLAIN, [id]);
    if (by === undefined) return { seen: false };
    if (by === 0) return { seen: true, by: "pending", at: new Date(first) };
    if (by === 1) return { seen: true, by: "memory" };
    return { seen: true, by: "server", shard: first, ...(epoch === undefined ? {} : { epoch }) };
  }

  get version(): number | undefined {
    const [[version = -1]] = this.ask(STATS);
    return version < 0 ? undefined : version;
  }

  stats(): GuardStats {
    const [numbers] = this.ask(STATS);
    const [
      ,
      shards = 0,
      serverFalsePositiveRate = 0,
      memoryFalsePositiveRate = 0,
      pending = 0,
      remembered = 0,
      bytes = 0,
      passed = 0,
      byPending = 0,
      memory = 0,
      server = 0,
      duplicate = 0,
      count = 0,
      lastMs = 0,
      p50Ms = 0,
      p95Ms = 0,
      p99Ms = 0,
    ] = numbers;
    return {
      engine: this.isAlive ? "wasm" : "none",
      storage: this.#persistence?.storage ?? (this.#engine && this.#places.length > 0 ? "unavailable" : "none"),
      shards,
      serverFalsePositiveRate,
      memoryFalsePositiveRate,
      pending,
      remembered,
      filtered: { passed, pending: byPending, memory, server, duplicate, withoutId: this.#withoutId },
      lag: count > 0 ? { count, lastMs, p50Ms, p95Ms, p99Ms } : { count },
      bytes,
    };
  }

  /** Ends a batch that was to be delivered. */
  endBatch(batch: number, arrived: boolean): void {
    this.ask(END_BATCH, [], batch, arrived);
    if (arrived) this.#persistence?.changed();
  }

  /** Delivers impressions as long as the reporter runs. Returns stop. Several share the work. */
  addReporter(options: CheckedReportOptions): () => void {
    if (!this.isAlive) return () => {};
    const reporter = new Reporter(this, options);
    this.#reporters.add(reporter);
    this.#setDelivering();
    return () => {
      reporter.stop();
      this.#reporters.delete(reporter);
      this.#setDelivering();
    };
  }

  #setDelivering(): void {
    const isDelivering = this.#reporters.size > 0;
    this.ask(SET_DELIVERING, [], isDelivering);
    // What is to be delivered from now on is so on the next visit, too.
    if (isDelivering) this.#persistence?.changed();
  }

  async flush(): Promise<void> {
    await this.#loading;
    await this.#persistence?.flush();
  }

  /** Whether this core keeps its impressions in a storage. */
  isKeptIn(place: Place): boolean {
    return this.#persistence !== undefined && (this.options.storage === place || this.#persistence.kind === place);
  }

  /** Forgets everything that this namespace has here, in memory and in storage, and elsewhere. */
  async clear(elsewhere: () => Promise<void>): Promise<void> {
    this.ask(FORGET);
    await (this.#persistence?.clear(elsewhere) ?? elsewhere());
  }

  /** Gives the memory back: afterwards everything passes. */
  free(): void {
    this.#persistence?.stop();
    this.#engine?.onTrap.delete(this.#failed);
    this.#call(({ wasm }, guard) => wasm.freeGuard(guard));
    this.#guard = undefined;
  }
}

/** The report of a snapshot that was not taken. */
export function refused(reason: NonNullable<ApplyReport["reason"]>, error?: DeclaredError): ApplyReport {
  return { applied: false, reason, ...(error && { error }), shards: 0, reused: 0, expired: 0, covered: 0 };
}
