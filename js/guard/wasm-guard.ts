/** The engine's guard behind plain methods: texts and times go in, and without a guard the answer is that of none. */
import type { Engine } from "../engine/engine.js";
import { SeenGuardError } from "../errors.js";
import type { FormatArguments } from "../format.js";
import type { Guard, TextBatch } from "../generated/client/seenguard.js";
import { firstOfEach } from "../ids.js";
import { NEWER, WHOLE, type Segment, type SegmentState } from "../storage/segment.js";
import type { GuardStats, Impression, ItemId } from "../types/seenguard.js";

/** A snapshot as the engine takes it: NaN stands for what is absent. */
export interface SnapshotArguments {
  readonly format: FormatArguments;
  readonly shards: readonly string[];
  readonly version: number;
  readonly nowMs: number;
}

export interface ApplyOutcome {
  readonly applied: boolean;
  readonly shards: number;
  readonly reused: number;
  readonly expired: number;
  readonly covered: number;
  readonly lags: readonly { readonly id: string; readonly lagMs: number }[];
}

export type EngineExplanation =
  | { readonly by: "pending" | "memory"; readonly at: number }
  | { readonly by: "server"; readonly shard: number; readonly epoch?: number };

export interface RecordOutcome {
  /** How many were not known on this device. */
  unknown: number;
  /** Pending impressions that lost their text for want of room. */
  lostText: number;
  /** How many wait now that were never delivered. */
  undelivered: number;
  /** Ids that there was no memory for. */
  unrecorded: number;
}

export interface Batch {
  /** 0: nothing is to be delivered. */
  readonly batch: number;
  readonly impressions: Impression[];
}

export type FreshIndices = ArrayLike<number> & Iterable<number>;

export type EngineStats = Omit<GuardStats, "engine" | "storage" | "filtered"> & {
  filtered: Omit<GuardStats["filtered"], "withoutId">;
};

const OUT_OF_MEMORY = "out-of-memory";

export class WasmGuard {
  private readonly engine: Engine;
  private guard: Guard | undefined;
  private readonly forget = () => this.abandon();

  constructor(engine: Engine, windowDays: number, remember: number) {
    this.engine = engine;
    engine.onTrap.add(this.forget);
    this.guard = engine.call(() => new engine.classes.Guard(windowDays, remember));
  }

  /** Whether there is anything that could stop an item. */
  get isAlive(): boolean {
    return this.guard !== undefined;
  }

  /** Gives the memory back. */
  free(): void {
    this.engine.onTrap.delete(this.forget);
    this.call((guard) => guard.free());
    this.guard = undefined;
  }

  /** Throws what is wrong with the snapshot. */
  apply({ format, shards, version, nowMs }: SnapshotArguments): ApplyOutcome | undefined {
    return this.callWithAll(
      shards,
      (guard, batch) => guard.apply(batch, ...format, version, nowMs, Date.now(), performance.now()) as ApplyOutcome,
    );
  }

  /**
   * The indices of the fresh ids, of equal ids the first; `undefined`: there is no guard. Ids that there is no memory
   * for are fresh, and `onOutOfMemory` is called.
   */
  filter(ids: readonly ItemId[], onOutOfMemory: () => void): FreshIndices | undefined {
    if (ids.length === 0) return this.isAlive ? [] : undefined;
    const parts: { readonly start: number; readonly fresh: Iterable<number> }[] = [];
    for (let start = 0; ;) {
      const part = this.callWithPart(ids, start, (guard, batch) =>
        this.engine.writer.indices(guard.filter(batch, Date.now(), performance.now())),
      );
      if (!part) return undefined;
      if (start === 0 && part.end >= ids.length && part.result) return part.result;
      if (!part.result) onOutOfMemory();
      parts.push({ start, fresh: part.result ?? new Array(part.end - start).keys() });
      start = part.end;
      if (start >= ids.length) break;
    }
    return firstOfEach(
      { ids },
      parts.flatMap(({ start, fresh }) => Array.from(fresh, (index) => start + index)),
    );
  }

  record(ids: readonly ItemId[]): RecordOutcome | undefined {
    const total: RecordOutcome = { unknown: 0, lostText: 0, undelivered: 0, unrecorded: 0 };
    for (let start = 0; start < ids.length;) {
      const part = this.callWithPart(
        ids,
        start,
        (guard, batch) => guard.record(batch, Date.now(), performance.now()) as RecordOutcome,
      );
      if (!part) return undefined;
      if (part.result) {
        total.unknown += part.result.unknown;
        total.lostText += part.result.lostText;
        total.undelivered = part.result.undelivered;
      } else {
        total.unrecorded += part.end - start;
      }
      start = part.end;
    }
    return total;
  }

  explain(id: ItemId): EngineExplanation | undefined {
    return this.callWithPart([id], 0, (guard, batch) => {
      return guard.explain(batch, Date.now(), performance.now()) as EngineExplanation | undefined;
    })?.result;
  }

  pending(limit: number): string[] {
    return this.call((guard) => guard.pending(limit)) ?? [];
  }

  pendingShard(): string {
    return this.call((guard) => guard.pendingShard()) ?? "";
  }

  get version(): number | undefined {
    return this.call((guard) => guard.version);
  }

  get shards(): number {
    return this.call((guard) => guard.shards) ?? 0;
  }

  stats(): EngineStats | undefined {
    return this.call((guard) => guard.stats(Date.now(), performance.now()) as EngineStats);
  }

  /** From now on impressions of this namespace are delivered, on this visit and later ones. */
  startReporting(): void {
    this.call((guard) => guard.startReporting());
  }

  beginBatch(maxImpressions: number, maxBytes: number): Batch {
    const batch = this.call(
      (guard) => guard.beginBatch(maxImpressions, maxBytes, Date.now(), performance.now()) as Batch,
    );
    return batch ?? { batch: 0, impressions: [] };
  }

  endBatch(batch: number, arrived: boolean): void {
    this.call((guard) => guard.endBatch(batch, arrived, Date.now(), performance.now()));
  }

  /**
   * Takes over what earlier visits and other tabs have stored, before `finishLoading`. Returns each segment's state.
   */
  load(segments: readonly string[]): SegmentState[] {
    return this.read(segments, (guard, batch) => guard.load(batch));
  }

  /** Nothing more is to be loaded. */
  finishLoading(): void {
    this.call((guard) => guard.finishLoading());
  }

  /** Merges what other tabs have stored since. Returns each segment's state. */
  merge(segments: readonly string[]): SegmentState[] {
    return this.read(segments, (guard, batch) => guard.merge(batch));
  }

  /** What has changed since the last call; `everything`: also what a snapshot has merely covered. */
  takeUnsaved(everything: boolean): Segment | undefined {
    return this.call((guard) => guard.takeUnsaved(everything) as Segment | undefined);
  }

  /** One segment in place of several. `undefined`: there is no guard, or no memory for it. */
  compact(segments: readonly string[]): Segment | undefined {
    try {
      return this.callWithAll(segments, (guard, batch) => guard.compact(batch) as Segment);
    } catch (cause) {
      if (isOutOfMemory(cause)) return undefined;
      throw cause;
    }
  }

  /** Forgets what was recorded before a time, and the snapshot in use. What stays is unsaved again. */
  clearBefore(clearedAtMs: number): void {
    this.call((guard) => guard.clearBefore(clearedAtMs, Date.now(), performance.now()));
  }

  /** Forgets everything. */
  clear(): void {
    this.call((guard) => guard.clear());
  }

  private read(segments: readonly string[], run: (guard: Guard, batch: TextBatch) => Uint8Array): SegmentState[] {
    const states: SegmentState[] = [];
    for (let start = 0; start < segments.length;) {
      const part = this.callWithPart(segments, start, run);
      if (!part) return segments.map(() => WHOLE);
      // What there is no memory for is left alone, as what a newer version has stored.
      const { result = new Array<SegmentState>(part.end - start).fill(NEWER) } = part;
      for (const state of result) states.push(state as SegmentState);
      start = part.end;
    }
    return states;
  }

  private call<T>(run: (guard: Guard) => T): T | undefined {
    const { guard } = this;
    return guard && this.engine.call(() => run(guard));
  }

  /** Calls with all texts in the batch; throws `out-of-memory` if there is no memory for them. */
  private callWithAll<T>(texts: readonly string[], run: (guard: Guard, batch: TextBatch) => T): T | undefined {
    const { writer } = this.engine;
    return this.call((guard) => {
      if (!writer.writeAll(texts)) throw new SeenGuardError(OUT_OF_MEMORY, "there is no memory for so long texts");
      const result = run(guard, writer.batch);
      writer.done();
      return result;
    });
  }

  /**
   * Calls with a part of the texts in the batch. `undefined`: there is no guard. A part without a `result`: there is no
   * memory for it.
   */
  private callWithPart<T>(
    texts: readonly ItemId[],
    start: number,
    run: (guard: Guard, batch: TextBatch) => T,
  ): { readonly end: number; readonly result?: T } | undefined {
    const { writer } = this.engine;
    return this.call((guard) => {
      const { end, fits } = writer.writePart(texts, start);
      if (!fits) return { end };
      try {
        const result = run(guard, writer.batch);
        writer.done();
        return { end, result };
      } catch (cause) {
        if (isOutOfMemory(cause)) return { end };
        throw cause;
      }
    });
  }

  /** The module has trapped. */
  private abandon(): void {
    if (this.guard) this.engine.abandon(this.guard);
    this.guard = undefined;
  }
}

/** As this package throws it, or as the module does. */
function isOutOfMemory(cause: unknown): boolean {
  return (cause as { code?: unknown } | undefined)?.code === OUT_OF_MEMORY;
}
