/** Calls into the engine's guard of one namespace. Without a guard, as after a trap, each answers `undefined`. */
import { attempt } from "../attempt.js";
import type { Clock } from "../clock.js";
import { SeenGuardError } from "../errors.js";
import type { Guard, Place, TextBatch } from "../generated/client/seenguard.js";
import type { ItemId } from "../types/seenguard.js";
import type { Engine } from "./engine.js";
import type { SnapshotArguments } from "./engine-types.js";

const OUT_OF_MEMORY = "out-of-memory";

type BatchCall<T> = (guard: Guard, batch: TextBatch, wallMs: number) => T;

export interface GuardArguments {
  readonly namespace: string;
  /** Of all its keys. */
  readonly prefix: string;
  /** Where it is kept; undefined: nowhere. */
  readonly place: keyof typeof Place | undefined;
  readonly windowDays: number;
  readonly remember: number;
}

export class EngineGuard {
  readonly engine: Engine;
  private readonly clock: Clock;
  private guard: Guard | undefined;

  constructor(engine: Engine, options: GuardArguments, clock: Clock) {
    this.engine = engine;
    this.clock = clock;
    engine.onTrap.add(this.abandon);
    const { namespace, prefix, windowDays, remember } = options;
    const { Guard, Place } = engine.classes;
    const place = options.place && Place[options.place];
    this.guard = engine.call(() => new Guard(namespace, prefix, place, windowDays, remember, seed()));
  }

  /** Whether there is anything that could stop an item. */
  get isAlive(): boolean {
    return this.guard !== undefined;
  }

  /** Gives the memory back. */
  free(): void {
    this.engine.onTrap.delete(this.abandon);
    this.call((guard) => guard.free());
    this.guard = undefined;
  }

  call<T>(run: (guard: Guard, wallMs: number) => T): T | undefined {
    const { guard, clock } = this;
    return guard && this.engine.call(() => run(guard, clock.wallMs()));
  }

  /** Takes a snapshot; `isStored`: that of an earlier visit. Throws for what the engine refuses. */
  apply({ format, shards, version, nowMs, unseen, forgetBefore }: SnapshotArguments, isStored: boolean): unknown {
    const unseenAt = Float64Array.from(unseen, ({ at }) => at);
    return this.callWithAll([...shards, ...unseen.map(({ id }) => id)], (guard, batch, wallMs) => {
      return guard.apply(batch, ...format, version, nowMs, unseenAt, forgetBefore, isStored, wallMs) as unknown;
    });
  }

  /** Calls with all texts in the batch; throws `out-of-memory` if there is no memory for them. */
  private callWithAll<T>(texts: readonly string[], run: BatchCall<T>): T | undefined {
    const { writer } = this.engine;
    return this.call((guard, wallMs) => {
      if (!writer.writeAll(texts)) throw new SeenGuardError(OUT_OF_MEMORY, "there is no memory for so long texts");
      const result = run(guard, writer.batch, wallMs);
      writer.done();
      return result;
    });
  }

  /**
   * Calls with one part of the texts after the other in the batch, and hands each result on, with the indices between
   * which the part is; without a result there is no memory for it. Returns false if there is no guard.
   */
  callWithParts<T>(
    texts: readonly ItemId[],
    run: BatchCall<T | undefined>,
    take: (result: T | undefined, start: number, end: number) => void,
  ): boolean {
    const { writer } = this.engine;
    for (let start = 0; start < texts.length;) {
      const part = this.call((guard, wallMs) => {
        const { end, fits } = writer.writePart(texts, start);
        const result = fits ? unlessOutOfMemory(() => run(guard, writer.batch, wallMs)) : undefined;
        writer.done();
        return { end, result };
      });
      if (!part) return false;
      take(part.result, start, part.end);
      start = part.end;
    }
    return this.isAlive;
  }

  /** The module has trapped. */
  private readonly abandon = (): void => {
    if (this.guard) this.engine.abandon(this.guard);
    this.guard = undefined;
  };
}

/** Numbers that differ from document to document, though a page's tests may have stubbed any source of them. */
function seed(): Float64Array {
  const { crypto, performance } = globalThis as Partial<typeof globalThis>;
  const random = attempt(() => crypto?.getRandomValues(new Uint32Array(4))) ?? [];
  return Float64Array.of(...random, Math.random(), Date.now(), performance?.timeOrigin ?? 0, performance?.now() ?? 0);
}

/** The result of a call; `undefined` if there is no memory for it, as this package throws it or as the module does. */
export function unlessOutOfMemory<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (cause) {
    if ((cause as { code?: unknown } | undefined)?.code !== OUT_OF_MEMORY) throw cause;
    return undefined;
  }
}
