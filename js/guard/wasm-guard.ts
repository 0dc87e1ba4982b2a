/** The engine's guard behind plain methods: texts and times go in, and without a guard the answer is that of none. */
import type { Clock } from "../clock.js";
import type { Engine } from "../engine/engine.js";
import { SeenGuardError } from "../errors.js";
import type { Guard, TextBatch } from "../generated/client/seenguard.js";
import { firstOfEach, type ItemIdList } from "../ids.js";
import { DAMAGED, NEWER, WHOLE, type Segment, type SegmentState, type StoredSnapshot } from "../storage/segment.js";
import type { ItemId } from "../types/seenguard.js";
import type {
  ApplyOutcome,
  Batch,
  EngineExplanation,
  EngineStats,
  FreshIndices,
  RecordOutcome,
  SnapshotArguments,
  SplitIndices,
} from "./engine-types.js";
import { HeldSnapshot, readStored } from "./held-snapshot.js";

/** The engine's largest number. */
const NO_LIMIT = 2 ** 32 - 1;
const OUT_OF_MEMORY = "out-of-memory";

export class WasmGuard {
  private readonly engine: Engine;
  private guard: Guard | undefined;
  private readonly clock: Clock;
  private readonly heldSnapshot: HeldSnapshot;
  private readonly forget = () => this.abandon();

  constructor(engine: Engine, windowDays: number, remember: number, clock: Clock) {
    this.engine = engine;
    this.clock = clock;
    this.heldSnapshot = new HeldSnapshot(clock);
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
  apply(snapshot: SnapshotArguments): ApplyOutcome | undefined {
    const outcome = this.applySnapshot(snapshot);
    if (outcome && !outcome.reason) this.heldSnapshot.replace(snapshot, this.held());
    return outcome;
  }

  /** `held`: the snapshot was in use on an earlier visit, and the engine told this of it. */
  private applySnapshot(snapshot: SnapshotArguments, held?: string): ApplyOutcome | undefined {
    const { format, shards, version, nowMs, unseen, forgetBefore } = snapshot;
    const texts = [...shards, ...unseen.map(({ id }) => id)];
    const times = Float64Array.from(unseen, ({ at }) => at);
    return this.callWithAll(texts, (guard, batch) => {
      return guard.apply(batch, ...format, version, nowMs, times, forgetBefore, held, ...this.times()) as ApplyOutcome;
    });
  }

  /**
   * The indices of the fresh items; `undefined`: there is no guard. Items that there is no memory for are fresh, and
   * `onOutOfMemory` is called.
   */
  filter(list: ItemIdList, onOutOfMemory: () => void): FreshIndices | undefined {
    // Items in different parts may be duplicates of each other in turn: only all of them together tell.
    if (list.ends) return this.split(list, onOutOfMemory)?.fresh;
    const { length } = list.ids;
    if (length === 0) return this.isAlive ? [] : undefined;
    const parts: { readonly start: number; readonly fresh: Iterable<number> }[] = [];
    for (let start = 0; ;) {
      const part = this.callWithPart(list.ids, start, (guard, batch) => {
        const count = guard.filter(batch, ...this.times());
        return count === undefined ? undefined : this.engine.writer.indices(count);
      });
      if (!part) return undefined;
      if (start === 0 && part.end >= length && part.result) return part.result;
      if (!part.result) onOutOfMemory();
      parts.push({ start, fresh: part.result ?? new Array(part.end - start).keys() });
      start = part.end;
      if (start >= length) break;
    }
    return firstOfEach(
      list,
      parts.flatMap(({ start, fresh }) => Array.from(fresh, (index) => start + index)),
    );
  }

  /**
   * The indices of the fresh items and of the others, those seen longest ago first; `undefined`: there is no guard.
   * Items that there is no memory for are fresh, and `onOutOfMemory` is called.
   */
  split(list: ItemIdList, onOutOfMemory: () => void): SplitIndices | undefined {
    const { writer } = this.engine;
    const split = this.call((guard) => {
      if (!writer.writeAllItems(list)) return null;
      return orNullIfOutOfMemory(() => {
        const fresh = guard.split(writer.batch, ...this.times());
        const all = writer.indices(writer.batch.answered());
        writer.done();
        return { fresh: all.subarray(0, fresh), seen: all.subarray(fresh) };
      });
    });
    if (split !== null) return split;
    onOutOfMemory();
    return { fresh: firstOfEach(list), seen: [] };
  }

  record(ids: readonly ItemId[]): RecordOutcome | undefined {
    const total: RecordOutcome = { unknown: 0, lostText: 0, undelivered: 0, unrecorded: 0 };
    for (let start = 0; start < ids.length;) {
      const part = this.callWithPart(
        ids,
        start,
        (guard, batch) => guard.record(batch, ...this.times()) as RecordOutcome,
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

  /** Returns how many were stopped before; ids that there is no memory for are left as they are, and counted in `lost`. */
  unsee(ids: readonly ItemId[]): { stopped: number; lost: number } {
    const total = { stopped: 0, lost: 0 };
    for (let start = 0; start < ids.length;) {
      const part = this.callWithPart(ids, start, (guard, batch) => guard.unsee(batch, ...this.times()));
      if (!part) break;
      total.stopped += part.result ?? 0;
      if (part.result === undefined) total.lost += part.end - start;
      start = part.end;
    }
    return total;
  }

  /** The indices of the ids that pass because they were taken back, or, once the history was deleted, at all. */
  takenBack(ids: readonly ItemId[]): number[] {
    const taken: number[] = [];
    for (let start = 0; start < ids.length;) {
      const part = this.callWithPart(ids, start, (guard, batch) =>
        this.engine.writer.indices(guard.takenBack(batch, ...this.times())),
      );
      if (!part) break;
      for (const index of part.result ?? []) taken.push(start + index);
      start = part.end;
    }
    return taken;
  }

  /** Grows whenever something was taken back or forgotten, here, in another tab or by the server. */
  get unseenRevision(): number {
    return this.call((guard) => guard.unseenRevision) ?? 0;
  }

  held(): string {
    return this.call((guard) => guard.held()) ?? "";
  }

  get undelivered(): number {
    return this.call((guard) => guard.undelivered) ?? 0;
  }

  explain(id: ItemId): EngineExplanation | undefined {
    return this.callWithPart([id], 0, (guard, batch) => {
      return guard.explain(batch, ...this.times()) as EngineExplanation | undefined;
    })?.result;
  }

  pending(limit: number | undefined): string[] {
    return this.call((guard) => guard.pending(limitOf(limit))) ?? [];
  }

  pendingShard(maxCharacters: number | undefined): string {
    const run = (guard: Guard) => guard.pendingShard(limitOf(maxCharacters));
    return orNullIfOutOfMemory(() => this.call(run)) ?? "";
  }

  get version(): number | undefined {
    return this.call((guard) => guard.version);
  }

  get shards(): number {
    return this.call((guard) => guard.shards) ?? 0;
  }

  stats(): EngineStats | undefined {
    return this.call((guard) => guard.stats(...this.times()) as EngineStats);
  }

  /** From now on impressions of this namespace are delivered, on this visit and later ones. */
  startReporting(): void {
    this.call((guard) => guard.startReporting());
  }

  beginBatch(maxImpressions: number, maxBytes: number): Batch {
    const batch = this.call((guard) => guard.beginBatch(maxImpressions, maxBytes, ...this.times()) as Batch);
    return batch ?? { batch: 0, impressions: [], unseen: [] };
  }

  endBatch(batch: number, arrived: boolean): void {
    this.call((guard) => guard.endBatch(batch, arrived, ...this.times()));
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

  /** The snapshot in use, to be stored. `undefined`: there is nothing to store. */
  storedSnapshot(): StoredSnapshot | undefined {
    return this.heldSnapshot.toStored(this.held());
  }

  /**
   * Takes over a stored snapshot, unless one was applied on this visit. `texts`: those of its shards that were found, by
   * reference. Returns the state of its index.
   */
  loadSnapshot(index: string, texts: ReadonlyMap<string, string>): SegmentState {
    const stored = readStored(index, texts, this.clock.wallMs());
    if (typeof stored === "number") return stored;
    try {
      const outcome = this.applySnapshot(stored.snapshot, stored.held);
      if (outcome && !outcome.reason) this.heldSnapshot.restore(stored.snapshot, texts, this.held());
      return WHOLE;
    } catch (cause) {
      return isOutOfMemory(cause) ? WHOLE : DAMAGED;
    }
  }

  /** What has changed since the last call; `everything`: also what a snapshot has merely covered. */
  takeUnsaved(everything: boolean): Segment | undefined {
    return this.call((guard) => guard.takeUnsaved(everything) as Segment | undefined);
  }

  /** One segment in place of several. `undefined`: there is no guard, or no memory for it. */
  compact(segments: readonly string[]): Segment | undefined {
    const run = (guard: Guard, batch: TextBatch) => guard.compact(batch) as Segment;
    return orNullIfOutOfMemory(() => this.callWithAll(segments, run)) ?? undefined;
  }

  /** Forgets what was recorded before a time, and the snapshot in use. What stays is unsaved again. */
  clearBefore(clearedAtMs: number): void {
    this.call((guard) => guard.clearBefore(clearedAtMs, ...this.times()));
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
  ): PartResult<T> | undefined {
    const { writer } = this.engine;
    return this.call((guard) => {
      const { end, fits } = writer.writePart(texts, start);
      if (!fits) return { end };
      const result = orNullIfOutOfMemory(() => run(guard, writer.batch));
      if (result === null) return { end };
      writer.done();
      return { end, result };
    });
  }

  /** What most calls take at their end. */
  private times(): [wallMs: number, steadyMs: number] {
    return [this.clock.wallMs(), this.clock.steadyMs()];
  }

  /** The module has trapped. */
  private abandon(): void {
    if (this.guard) this.engine.abandon(this.guard);
    this.guard = undefined;
  }
}

interface PartResult<T> {
  readonly end: number;
  readonly result?: T;
}

/** The result of a call; `null` if there is no memory for it, as this package throws it or as the module does. */
function orNullIfOutOfMemory<T>(run: () => T): T | null {
  try {
    return run();
  } catch (cause) {
    if (!isOutOfMemory(cause)) throw cause;
    return null;
  }
}

/** A limit as the engine takes it; what is no number limits nothing. */
function limitOf(limit: number | undefined): number {
  return typeof limit === "number" && limit >= 0 ? Math.min(limit, NO_LIMIT) : NO_LIMIT;
}

function isOutOfMemory(cause: unknown): boolean {
  return (cause as { code?: unknown } | undefined)?.code === OUT_OF_MEMORY;
}
