/** `ShardChain`: a user's shards on the server. */
import { loadEngine, type Engine, type RawChain } from "./engine.js";
import { SeenGuardError } from "./errors.js";
import { collectIds, collectRecorded, freshItems, isUsable, listOf } from "./ids.js";
import { checkChainOptions, type ChainSettings } from "./chain-options.js";
import type * as Api from "./seenguard.js";

type Identified = Api.ItemId | { readonly id: Api.ItemId };

const NO_BASE64 = "!";

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** A time of the caller's: what the module cannot take would trap it, for all chains of the process. */
function checkTime(now: unknown): asserts now is number {
  if (typeof now !== "number" || !(now >= 0 && now <= Number.MAX_SAFE_INTEGER)) {
    throw new SeenGuardError("bad-option", "nowSeconds must be a time in Unix seconds");
  }
}

export class ShardChain implements Api.ShardChain {
  readonly #engine: Engine;
  #raw: RawChain | undefined;
  readonly #format: Api.ShardFormat | undefined;
  readonly rejected: readonly { index: number; code: Api.ErrorCode }[];

  private constructor(
    engine: Engine,
    raw: RawChain,
    format: Api.ShardFormat | undefined,
    rejected: readonly { index: number; code: Api.ErrorCode }[],
  ) {
    this.#engine = engine;
    this.#raw = raw;
    this.#format = format;
    this.rejected = rejected;
  }

  static async create(options: Api.ChainOptions = {}): Promise<ShardChain> {
    return ShardChain.#make([], checkChainOptions(options));
  }

  static async from(shards: Api.Snapshot | readonly string[], options: Api.ChainOptions = {}): Promise<ShardChain> {
    const checked = checkChainOptions(options);
    const stored: unknown = Array.isArray(shards)
      ? shards
      : (shards as Partial<Api.Snapshot> | null | undefined)?.shards;
    if (!Array.isArray(stored))
      throw new SeenGuardError("bad-snapshot", "ShardChain.from takes a list of shards, or a snapshot");
    // What is no text is no base64 either. A hole of a sparse list is no text.
    return ShardChain.#make(
      Array.from(stored, (shard: unknown) => (typeof shard === "string" ? shard : NO_BASE64)),
      checked,
    );
  }

  static async #make(stored: string[], settings: ChainSettings): Promise<ShardChain> {
    const engine = await loadEngine();
    const { format, capacity, shards, falsePositiveRate, seed, ttlSeconds } = settings;
    let refusal: unknown;
    const raw = engine.call(() => {
      try {
        return (
          engine.glue &&
          new engine.glue.RawChain(...format, stored, capacity, shards, falsePositiveRate, seed, ttlSeconds)
        );
      } catch (error) {
        // What the module refuses comes as a plain object; anything else is a trap.
        if (typeof (error as { code?: unknown } | null)?.code !== "string") throw error;
        refusal = error;
        return undefined;
      }
    });
    if (raw === undefined) throw refused(refusal);
    const rejected = engine.call(() => raw.rejected() as ShardChain["rejected"]) ?? [];
    return new ShardChain(engine, raw, settings.shippedFormat, rejected);
  }

  record(ids: Api.ItemId | Iterable<Api.ItemId>, now = nowSeconds()): number {
    checkTime(now);
    const list = collectRecorded(ids);
    const { writer } = this.#engine;
    return this.#call((raw) => {
      if (!writer.write(list)) throw new RangeError("out of memory");
      const recorded = raw.record(now);
      writer.done();
      return recorded;
    });
  }

  has(id: Api.ItemId, now = nowSeconds()): boolean {
    checkTime(now);
    return isUsable(id) && this.#call((raw) => raw.has(String(id), now));
  }

  filter<T extends Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: Api.IdOf<T>): T[];
  filter<T>(items: readonly T[], id?: Api.IdOf<T>): T[] {
    const list = listOf(items);
    const { ids, places } = collectIds(list, typeof id === "function" ? id : undefined);
    const { writer } = this.#engine;
    const fresh = this.#call((raw) => {
      if (!writer.write(ids)) throw new RangeError("out of memory");
      const found = writer.fresh(raw.filter(nowSeconds()));
      writer.done();
      return found;
    });
    return freshItems(list, places, fresh);
  }

  snapshot(now = nowSeconds()): Api.Snapshot {
    checkTime(now);
    const { version, shards, now: shippedAt } = this.#call((raw) => raw.snapshot(now) as Api.Snapshot);
    // A format without epochs has no version to ship.
    return {
      ...(version === undefined ? {} : { version }),
      shards,
      ...(this.#format === undefined ? {} : { format: this.#format }),
      ...(shippedAt === undefined ? {} : { now: shippedAt }),
    };
  }

  free(): void {
    const raw = this.#raw;
    this.#raw = undefined;
    this.#engine.call(() => {
      raw?.free();
    });
  }

  /** A chain's answers matter to whoever stores them: what cannot be answered throws. */
  #call<T>(run: (raw: RawChain) => T): T {
    const raw = this.#raw;
    if (raw === undefined) throw new SeenGuardError("bad-option", "this chain was freed");
    const result = this.#engine.call(() => ({ value: run(raw) }));
    if (result === undefined)
      throw new SeenGuardError("trap", "the Wasm instance trapped: make a new chain from what the store holds");
    return result.value;
  }
}

function refused(error: unknown): SeenGuardError {
  const { code, message } = (error ?? { code: "trap", message: "the Wasm instance trapped" }) as {
    code: Api.ErrorCode;
    message: string;
  };
  return new SeenGuardError(code, message);
}
