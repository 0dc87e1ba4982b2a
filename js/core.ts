/**
 * What the holders of one namespace in one document share: the guard in the Wasm module, its storage, and who is to be told what went wrong.
 *
 * Whatever fails here fails open: without an engine, after a trap and once closed everything passes.
 */
import { loadEngine, type Engine, type RawGuard, type WasmSource } from "./engine.js";
import { callBack, SeenGuardError, type ErrorListener } from "./errors.js";
import type { OpenOptions } from "./options.js";
import { Reporter, type Deliveries } from "./report.js";
import type {
  ApplyReport,
  Explanation,
  GuardOptions,
  GuardStats,
  Impression,
  ItemId,
  ReportOptions,
  SeenGuardError as DeclaredError,
} from "./seenguard.js";
import { checkSnapshot } from "./snapshot.js";
import { Persistence, type Persisted, type SegmentState } from "./storage/persistence.js";
import { openStore, type StorageOption } from "./storage/store.js";
import { within } from "./within.js";

/** How long `open` waits for a storage that does not answer; what it holds is taken over when it does. */
const STORAGE_PATIENCE_MS = 2_000;

/** Who holds a guard open: what it wants to be told. */
export interface Holder {
  readonly onError: ErrorListener;
  readonly onLag: GuardOptions["onLag"];
}

/** What the module reports of a snapshot. */
type ApplyOutcome =
  | { applied: boolean; shards: number; reused: number; expired: number; covered: number; lags: [string, number][] }
  | { error: { code: SeenGuardError["code"]; message: string }; shards: number; expired: number };

/** What the module reports of itself. */
type RawStats = Omit<GuardStats, "engine" | "storage" | "filtered"> & {
  filtered: Omit<GuardStats["filtered"], "withoutId">;
};
type RawExplanation =
  { by: "pending"; at: number } | { by: "memory" } | { by: "server"; shard: number; epoch?: number };

const NOTHING_FILTERED = { passed: 0, pending: 0, memory: 0, server: 0, duplicate: 0 };
const NOTHING_HELD: RawStats = {
  shards: 0,
  serverFalsePositiveRate: 0,
  memoryFalsePositiveRate: 0,
  pending: 0,
  remembered: 0,
  filtered: NOTHING_FILTERED,
  lag: { count: 0 },
  bytes: 0,
};

export class GuardCore implements Persisted, Deliveries {
  readonly options: OpenOptions;
  readonly holders = new Set<Holder>();
  #engine: Engine | undefined;
  #raw: RawGuard | undefined;
  #persistence: Persistence | undefined;
  #loading: Promise<void> = Promise.resolve();
  #storage: GuardStats["storage"] = "none";
  #withoutId = 0;
  /** Whether the last impressions displaced others that were pending. */
  #isFull = false;
  readonly #reporters = new Set<Reporter>();
  #failed = false;
  #stopWatching = () => {};

  constructor(options: OpenOptions) {
    this.options = options;
  }

  /** Loads the module and what is stored. Rejects for wrong options alone. */
  async start(wasm: WasmSource | undefined): Promise<void> {
    try {
      const engine = await loadEngine(wasm);
      this.#raw = engine.call(undefined, () => engine.newGuard(this.options.windowDays));
      this.#engine = engine;
      this.#stopWatching = engine.onTrap((error) => {
        this.#raw = undefined;
        this.#failed = true;
        this.#persistence?.stop();
        this.report(error);
      });
    } catch (error) {
      if (!(error instanceof SeenGuardError) || error.code === "bad-option") throw error;
      this.#failed = true;
      this.report(error);
      return;
    }
    this.#loading = this.#loadStorage();
    await within(STORAGE_PATIENCE_MS, this.#loading);
  }

  async #loadStorage(): Promise<void> {
    const { namespace, storage, windowDays } = this.options;
    if (storage === "none") return;
    this.#storage = "unavailable";
    const store = await openStore(storage, (error) => {
      this.report(error);
    });
    const engine = this.#engine;
    if (store === undefined || engine === undefined || !this.isAlive) return;
    const writer = engine.call(undefined, () => engine.randomWriterId());
    if (writer === undefined) return;
    this.#persistence = new Persistence(store, namespace, writer, windowDays, this);
    await this.#persistence.start();
    // What was recorded while the storage was not open yet.
    this.#persistence.changed();
  }

  /** Whether there is anything that could stop an item. */
  get isAlive(): boolean {
    return this.#raw !== undefined;
  }

  /** Whether the engine was lost, or never to be had: whoever opens next begins anew. */
  get hasFailed(): boolean {
    return this.#failed;
  }

  report(error: SeenGuardError): void {
    for (const { onError } of this.holders) callBack(onError, error);
  }

  /** Calls the module's guard; without one, or if it traps, the answer is `fallback`. */
  #call<T, Fallback>(fallback: Fallback, run: (raw: RawGuard, wallMs: number, steadyMs: number) => T): T | Fallback {
    const [engine, raw] = [this.#engine, this.#raw];
    if (engine === undefined || raw === undefined) return fallback;
    return engine.call(fallback, () => run(raw, Date.now(), performance.now()));
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
    const wantsLags = [...this.holders].some(({ onLag }) => onLag !== undefined);
    const outcome = this.#call(
      undefined,
      (raw, ...now) => raw.apply(...format, shards, version, nowMs, wantsLags, ...now) as ApplyOutcome,
    );
    if (outcome === undefined) return refused("no-engine");
    if ("error" in outcome) {
      const error = new SeenGuardError(outcome.error.code, outcome.error.message);
      this.report(error);
      return { ...refused("invalid", error), shards: outcome.shards, expired: outcome.expired };
    }
    const { lags, ...counts } = outcome;
    if (counts.covered > 0) this.#persistence?.covered();
    for (const [id, lagMs] of lags) for (const { onLag } of this.holders) callBack(onLag, lagMs, id);
    return counts.applied ? counts : { ...counts, reason: "older-version" };
  }

  /** The indices of the fresh ids, of equal ones the first; `undefined`: there is no engine, and everything passes. */
  fresh(ids: readonly ItemId[], withoutId: number): Uint32Array | undefined {
    this.#withoutId += withoutId;
    const writer = this.#engine?.writer;
    const batch = this.#engine?.batch;
    if (writer === undefined || batch === undefined) return undefined;
    return this.#call(undefined, (raw, ...now) => {
      if (!writer.write(ids)) return undefined;
      const fresh = writer.fresh(raw.filter(batch, ...now)).slice();
      writer.done();
      return fresh;
    });
  }

  record(ids: readonly ItemId[]): number {
    const writer = this.#engine?.writer;
    const batch = this.#engine?.batch;
    if (writer === undefined || batch === undefined || ids.length === 0) return 0;
    const [unknown = 0, displaced = 0] = this.#call([], (raw, ...now) => {
      if (!writer.write(ids)) return [];
      const recorded = [...raw.record(batch, ...now)];
      writer.done();
      return recorded;
    }) as number[];
    const isFull = displaced > 0;
    // Once, until there is room again.
    if (isFull && !this.#isFull) {
      this.report(
        new SeenGuardError(
          "too-large",
          "more impressions are pending than there is room for: the oldest are still stopped, but no longer pending",
        ),
      );
    }
    this.#isFull = isFull;
    this.#persistence?.changed();
    for (const reporter of this.#reporters) reporter.recorded();
    return unknown;
  }

  explain(id: ItemId): Explanation {
    const explained = this.#call(
      undefined,
      (raw, ...now) => raw.explain(String(id), ...now) as RawExplanation | undefined,
    );
    if (explained === undefined) return { seen: false };
    return explained.by === "pending"
      ? { seen: true, by: "pending", at: new Date(explained.at) }
      : { seen: true, ...explained };
  }

  has(id: ItemId): boolean {
    return this.#call(false, (raw, ...now) => raw.has(String(id), ...now));
  }

  pending(limit: number): string[] {
    return this.#call([], (raw) => raw.pending(limit));
  }

  pendingShard(): string {
    return this.#call("", (raw) => raw.pendingShard());
  }

  get version(): number | undefined {
    return this.#call(undefined, (raw) => raw.version);
  }

  stats(): GuardStats {
    const { filtered, ...stats } = this.#call(NOTHING_HELD, (raw, ...now) => raw.stats(...now) as RawStats);
    return {
      engine: this.isAlive ? "wasm" : "none",
      storage: this.#persistence?.storage ?? this.#storage,
      ...stats,
      filtered: { ...filtered, withoutId: this.#withoutId },
    };
  }

  beginBatch(impressions: number, bytes: number): { batch: number; impressions: Impression[] } {
    const nothing: [number, [string, number][]] = [0, []];
    const [batch, entries] = this.#call(
      nothing,
      (raw, ...now) => raw.beginBatch(impressions, bytes, ...now) as typeof nothing,
    );
    return { batch, impressions: entries.map(([id, at]) => ({ id, at })) };
  }

  endBatch(batch: number, arrived: boolean): void {
    this.#call(undefined, (raw, ...now) => {
      raw.endBatch(batch, arrived, ...now);
    });
    if (arrived) this.#persistence?.changed();
  }

  undelivered(): number {
    return this.#call(0, (raw) => raw.undelivered());
  }

  /** Delivers impressions as long as the reporter runs. Returns stop. Several share the work. */
  addReporter(options: ReportOptions): () => void {
    const reporter = new Reporter(this, options, (error) => {
      this.report(error);
    });
    this.#reporters.add(reporter);
    this.#setDelivering();
    return () => {
      reporter.stop();
      this.#reporters.delete(reporter);
      this.#setDelivering();
    };
  }

  #setDelivering(): void {
    this.#call(undefined, (raw) => {
      raw.setDelivering(this.#reporters.size > 0);
    });
    // What is to be delivered from now on is so on the next visit, too.
    if (this.#reporters.size > 0) this.#persistence?.changed();
  }

  async flush(): Promise<void> {
    await this.#loading;
    await this.#persistence?.flush();
  }

  /** Whether a storage option means the storage that this core keeps its impressions in. */
  isKeptIn(storage: StorageOption): boolean {
    return this.#persistence !== undefined && (this.options.storage === storage || this.#persistence.kind === storage);
  }

  /** Forgets everything that this namespace has here, in memory and in storage, and elsewhere. */
  async clear(elsewhere: () => Promise<void>): Promise<void> {
    this.forget();
    await (this.#persistence?.clear(elsewhere) ?? elsewhere());
  }

  /** Gives the memory back: afterwards everything passes. */
  free(): void {
    this.#persistence?.stop();
    this.#stopWatching();
    const raw = this.#raw;
    this.#raw = undefined;
    this.#engine?.call(undefined, () => {
      raw?.free();
    });
  }

  // What the storage asks of the state.

  takeUnsaved(): string | undefined {
    return this.#call(undefined, (raw) => raw.takeUnsaved());
  }

  checkpoint(): string | undefined {
    return this.#call(undefined, (raw) => raw.checkpoint());
  }

  takeOver(writers: string[], texts: string[]): SegmentState[] {
    return this.#call([], (raw, ...now) => raw.takeOver(writers, texts, ...now) as SegmentState[]);
  }

  merge(text: string): SegmentState {
    return this.#call<SegmentState, SegmentState>("whole", (raw, ...now) => raw.merge(text, ...now) as SegmentState);
  }

  forget(): void {
    this.#call(undefined, (raw) => {
      raw.forget();
    });
  }
}

function refused(reason: NonNullable<ApplyReport["reason"]>, error?: DeclaredError): ApplyReport {
  const why = error === undefined ? { reason } : { reason, error };
  return { applied: false, ...why, shards: 0, reused: 0, expired: 0, covered: 0 };
}

/** The report of a guard that was closed. */
export const closedReport = refused("closed");
