/** The guard in the engine, with typed arguments and results. */
import { attempt, type Clock } from "../platform/host.js";
import { SeenGuardError, type ErrorListener } from "../errors.js";
import type { BatchEnd, Count, Due, Guard, RecordKind, Scope, Source } from "../generated/client/seenguard.js";
import type { FormatArguments } from "../input/format.js";
import type { Explanation, GuardOptions, Impression, ItemId } from "../types/seenguard.js";
import { TextBatchWriter } from "./batch.js";
import type { Engine } from "./engine.js";

type Options = Required<Pick<GuardOptions, "namespace" | "windowDays" | "remember">>;

/** A snapshot as arguments of the engine; NaN: an absent field. */
export interface SnapshotArguments {
  readonly format: FormatArguments;
  readonly shards: readonly string[];
  readonly version: number;
  readonly nowMs: number;
  readonly unseen: readonly Impression[];
  readonly forgetBefore: number;
}

export type ApplyOutcome =
  | { readonly reason: "older-version" | "missing-shard" }
  | {
      readonly reason?: undefined;
      readonly covered: number;
      /** Whether the shards stop most fresh items. */
      readonly isSaturated: boolean;
      readonly lags: readonly { readonly id: string; readonly lagMs: number }[];
    };

export interface Batch {
  /** The number that the engine has given it. */
  readonly batch: number;
  readonly impressions: Impression[];
  readonly unseen: Impression[];
}

export type Indices = ArrayLike<number> & Iterable<number>;

/** A split list. */
export interface Split {
  readonly fresh: Indices;
  /** Those seen longest ago first. */
  readonly seen: Indices;
}

/** An unsaved row. */
export interface UnsavedRow {
  readonly encoded: string;
  /** The argument of `saved`. */
  readonly mark: number;
  /** The number of its recordings. */
  readonly count: number;
}

/** What is recorded: impressions, impressions that are never sent to a server, or ids that become unseen. */
export type Recording = keyof typeof RecordKind;

/** After a trap, which is passed to `onTrap`, each call returns `undefined`. */
export class EngineGuard {
  readonly kind: Engine["kind"];
  /** The generated classes. */
  private readonly classes: Engine["classes"];
  private readonly engine: Engine;
  private readonly clock: Clock;
  private readonly onTrap: ErrorListener;
  /** Its batch is the guard. */
  private writer: TextBatchWriter<Guard> | undefined;

  /** `isStored`: there is a storage, and recordings with `local` wait for its first load. */
  constructor(engine: Engine, options: Options, isStored: boolean, clock: Clock, onTrap: ErrorListener) {
    [this.engine, this.clock, this.onTrap] = [engine, clock, onTrap];
    [this.kind, this.classes] = [engine.kind, engine.classes];
    const { namespace, windowDays, remember } = options;
    const { Guard } = engine.classes;
    engine.onTrap.add(this.abandon);
    const guard = engine.call(() => new Guard(windowDays, remember, seed()));
    if (guard) this.writer = new TextBatchWriter(guard, engine);
    else engine.onTrap.delete(this.abandon);
    if (isStored) this.callWith([namespace], (stored) => stored.expectRows());
  }

  /** Whether the engine works. */
  get isAlive(): boolean {
    return this.writer !== undefined;
  }

  /** Frees the memory. */
  free(): void {
    this.engine.onTrap.delete(this.abandon);
    this.call((guard) => guard.free());
    this.writer = undefined;
  }

  call<T>(run: (guard: Guard, wallMs: number, writer: TextBatchWriter) => T): T | undefined {
    const { writer, clock } = this;
    return writer && this.engine.call(() => run(writer.batch, clock.wallMs(), writer));
  }

  count(what: keyof typeof Count): number | undefined {
    return this.call((guard) => guard.count(this.classes.Count[what]));
  }

  /** The string result of a call. */
  private text(run: (guard: Guard, wallMs: number) => void): string | undefined {
    return this.call((guard, wallMs) => {
      run(guard, wallMs);
      return guard.text();
    });
  }

  /** Calls with strings in the batch. Returns `undefined` also if they do not fit into memory. */
  private callWith<T>(
    strings: readonly ItemId[],
    run: (guard: Guard, wallMs: number, writer: TextBatchWriter) => T,
  ): T | undefined {
    return this.call((guard, wallMs, writer) => {
      const result = writer.write(strings) ? run(guard, wallMs, writer) : undefined;
      writer.done();
      return result;
    });
  }

  /**
   * Applies a snapshot; `isStored`: one of an earlier visit. `withLags`: returns the lags, of which there may be
   * thousands. Throws `bad-snapshot` for an invalid one.
   */
  apply(
    { format, shards, version, nowMs, unseen, forgetBefore }: SnapshotArguments,
    isStored: boolean,
    withLags: boolean,
  ): ApplyOutcome | undefined {
    const unseenAt = Float64Array.from(unseen, ({ at }) => at);
    const { ApplyStatus } = this.classes;
    const result = this.callWith([...shards, ...unseen.map(({ id }) => id)], (guard, wallMs) => {
      const status = guard.apply(...format, version, nowMs, unseenAt, forgetBefore, isStored, withLags, wallMs);
      return { status, numbers: guard.numbers(), text: status === ApplyStatus.Applied ? guard.text() : "" };
    });
    if (!this.isAlive) return undefined;
    const { status = ApplyStatus.OutOfMemory, numbers = new Float64Array(0), text = "" } = result ?? {};
    const [first, saturated] = numbers;
    switch (status) {
      case ApplyStatus.OlderVersion:
        return { reason: "older-version" };
      case ApplyStatus.MissingShard:
        return { reason: "missing-shard" };
      case ApplyStatus.Applied: {
        const lags = idsOf(numbers.subarray(2), text).map(({ id, at }) => ({ id, lagMs: at }));
        return { covered: first ?? 0, isSaturated: saturated === 1, lags };
      }
      default: {
        // The reasons of the format's description: "bad-base64".
        const reason = (Object.keys(ApplyStatus)[status] ?? "").replace(/\B[A-Z]/g, "-$&").toLowerCase();
        const what = first === undefined ? "the snapshot is refused" : `shard ${first} is refused`;
        const all =
          status === ApplyStatus.BadSnapshot
            ? OTHER_FORMAT
            : `${reason}: ${what}; inspect it with npx seenguard inspect`;
        throw new SeenGuardError("bad-snapshot", all);
      }
    }
  }

  /** The indices of the fresh ids and, if `withSeen`, of the others, those seen longest ago first. */
  split(ids: readonly ItemId[], withSeen: boolean): Split | undefined {
    return this.callWith(ids, (guard, wallMs, writer) => {
      const fresh = guard.filter(this.classes.FilterKind[withSeen ? "Split" : "Fresh"], wallMs);
      const [seen = 0] = withSeen ? guard.numbers() : [];
      const all = writer.indices(fresh + seen);
      return withSeen ? { fresh: all.subarray(0, fresh), seen: all.subarray(fresh) } : { fresh: all, seen: [] };
    });
  }

  explain(id: ItemId): Explanation | undefined {
    return this.callWith([id], (guard, wallMs) => {
      const by = guard.explain(wallMs);
      if (by === undefined) return { seen: false };
      const { Pending } = this.classes.SeenBy;
      const [at] = guard.numbers();
      if (at === undefined) return { seen: true, by: "server" };
      return { seen: true, by: by === Pending ? "pending" : "device", at: new Date(at) };
    });
  }

  /**
   * `count`: how many ids were not known on this device, or were stopped before they became unseen. `dropped`: how many
   * impressions are not pending any more, because their ids were deleted to free space.
   */
  record(
    ids: readonly ItemId[],
    recording: Recording,
    atMs?: number,
  ): { readonly count: number; readonly dropped: number } | undefined {
    return this.callWith(ids, (guard, wallMs) => {
      const count = guard.record(this.classes.RecordKind[recording], atMs ?? wallMs);
      const [dropped = 0] = guard.numbers();
      return { count, dropped };
    });
  }

  /** The indices of the ids that pass because they are unseen. */
  unseen(ids: readonly ItemId[]): ArrayLike<number> | undefined {
    return this.callWith(ids, (guard, wallMs, writer) =>
      writer.indices(guard.filter(this.classes.FilterKind.Unseen, wallMs)),
    );
  }

  /** The value of the header `Seen-Held`. */
  held(): string | undefined {
    return this.text((guard) => guard.held());
  }

  pendingList(maxCharacters: number): string | undefined {
    return this.text((guard, wallMs) => guard.pendingList(maxCharacters, wallMs));
  }

  stats(): Float64Array | undefined {
    return this.call((guard, wallMs) => {
      guard.stats(wallMs);
      return guard.numbers();
    });
  }

  pending(limit: number): string[] | undefined {
    return this.call((guard, wallMs) => {
      guard.pending(limit, wallMs);
      return idsOf(guard.numbers(), guard.text()).map(({ id }) => id);
    });
  }

  /** `undefined`, too, if there is nothing to deliver. */
  beginBatch(maxImpressions: number, maxBytes: number, scope: keyof typeof Scope): Batch | undefined {
    return this.call((guard, wallMs) => {
      const batch = guard.beginBatch(maxImpressions, maxBytes, this.classes.Scope[scope], wallMs);
      if (batch === 0) return undefined;
      const numbers = guard.numbers();
      const [impressions] = numbers;
      const all = idsOf(numbers.subarray(1), guard.text());
      return { batch, impressions: all.slice(0, impressions), unseen: all.slice(impressions) };
    });
  }

  endBatch(batch: number, end: keyof typeof BatchEnd): void {
    this.call((guard, wallMs) => guard.endBatch(batch, this.classes.BatchEnd[end], wallMs));
  }

  // Storage.

  /** The next row to save; `undefined`, too, if nothing is due. `after`: the mark of the row before, or 0. */
  unsaved(after: number, due: keyof typeof Due): UnsavedRow | undefined {
    return this.call((guard, wallMs) => {
      const mark = guard.unsaved(after, this.classes.Due[due], wallMs);
      if (mark === 0) return undefined;
      const [count = 0] = guard.numbers();
      return { encoded: guard.text(), mark, count };
    });
  }

  /** A row with the newest unsaved recordings, empty if none fits; `isAll`: it has all. */
  unsavedWithin(characters: number): { readonly encoded: string; readonly isAll: boolean } | undefined {
    return this.call((guard, wallMs) => {
      const isAll = guard.unsavedWithin(characters, wallMs);
      return { encoded: guard.text(), isAll };
    });
  }

  /** Returns how many recordings the row has; -1: it is damaged. */
  merge(row: string, source: keyof typeof Source): number | undefined {
    return this.callWith([row], (guard) => guard.merge(this.classes.Source[source]));
  }

  hasUnsaved(row: string): boolean | undefined {
    return this.callWith([row], (guard) => guard.hasUnsaved());
  }

  /** The rows that replace these, each with the number of its recordings; none if all are damaged. */
  rewrite(rows: readonly string[]): { readonly encoded: string; readonly count: number }[] | undefined {
    return this.callWith(rows, (guard) => {
      guard.rewrite();
      const rewritten = guard.text().split("\n");
      return Array.from(guard.numbers(), (count, index) => ({ encoded: rewritten[index] ?? "", count }));
    });
  }

  /** The day of the last use, in days since 1970, and the window in days; empty for a damaged row. */
  rowFacts(row: string): ArrayLike<number> & Iterable<number> {
    const facts = this.callWith([row], (guard) => {
      guard.rowFacts();
      return guard.numbers();
    });
    return facts ?? [];
  }

  /** The encoded shards in use; `undefined`, too, if they are too long to be stored. */
  encodedShards(): string[] | undefined {
    return this.call((guard) => (guard.encodedShards() ? guard.text().split("\n").slice(0, -1) : undefined));
  }

  private readonly abandon: ErrorListener = (error) => {
    this.writer = undefined;
    this.onTrap(error);
  };
}

/** The message for a snapshot that passes the checks in TypeScript and that this entry's engine cannot read. */
const OTHER_FORMAT =
  'this copy of seenguard reads its native format alone: import "seenguard/formats" instead of "seenguard" ' +
  'everywhere, or give "seenguard/slim" formats.wasm';

/** Numbers that differ from document to document, even if a page's tests stub some sources of randomness. */
function seed(): Float64Array {
  const { crypto, performance } = globalThis as Partial<typeof globalThis>;
  const random = attempt(() => crypto?.getRandomValues(new Uint32Array(4))) ?? [];
  return Float64Array.of(...random, Math.random(), Date.now(), performance?.timeOrigin ?? 0, performance?.now() ?? 0);
}

/** Splits joined ids. `numbers`: of each id its end in `text`, UTF-16 units, and another number, such as a time. */
function idsOf(numbers: ArrayLike<number>, text: string): Impression[] {
  const ids: Impression[] = [];
  for (let index = 0, start = 0; index < numbers.length; index += 2) {
    const end = numbers[index] ?? start;
    ids.push({ id: text.slice(start, end), at: numbers[index + 1] ?? 0 });
    start = end;
  }
  return ids;
}
