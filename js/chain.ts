/** `ShardChain`: a user's shards on the server. */
import { errorOf, idsOf, readAnswer } from "./answer.js";
import { loadEngine, type Engine } from "./engine/engine.js";
import { SeenGuardError } from "./errors.js";
import { collectIds, collectRecorded, freshItems, isUsable, listOf } from "./ids.js";
import { checkChainOptions, type ChainSettings } from "./chain-options.js";
import type * as Api from "./types/seenguard.js";

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

/** Chains that nobody holds any more give their memory back. */
const forgotten = new FinalizationRegistry((free: () => void) => {
  free();
});

export class ShardChain implements Api.ShardChain {
  readonly #engine: Engine;
  /** The chain's number there, until it is freed. */
  #chain: number | undefined;
  readonly #format: Api.ShardFormat | undefined;
  readonly rejected: readonly { index: number; code: Api.ErrorCode }[];

  private constructor(
    engine: Engine,
    chain: number,
    format: Api.ShardFormat | undefined,
    rejected: readonly { index: number; code: Api.ErrorCode }[],
  ) {
    this.#engine = engine;
    this.#chain = chain;
    this.#format = format;
    this.rejected = rejected;
    forgotten.register(this, () => engine.call(() => engine.wasm.freeChain(chain)), this);
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
    const answer = withBatch(engine, stored, (wasm) =>
      readAnswer(wasm.memory, wasm.newChain(...format, capacity, shards, falsePositiveRate, seed, ttlSeconds)),
    );
    if (answer === undefined) throw new SeenGuardError("trap", "the Wasm instance trapped");
    const [[chain]] = answer;
    if (chain === undefined) throw errorOf(answer);
    const rejected = idsOf(answer).map(([code, index]) => ({ index, code: code as Api.ErrorCode }));
    return new ShardChain(engine, chain, settings.shippedFormat, rejected);
  }

  record(ids: Api.ItemId | Iterable<Api.ItemId>, now = nowSeconds()): number {
    checkTime(now);
    return this.#call(collectRecorded(ids), ({ wasm }, chain) => wasm.recordInChain(chain, now));
  }

  has(id: Api.ItemId, now = nowSeconds()): boolean {
    checkTime(now);
    return isUsable(id) && this.#call([id], ({ wasm }, chain) => wasm.filterByChain(chain, now)) === 0;
  }

  filter<T extends Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: Api.IdOf<T>): T[];
  filter<T>(items: readonly T[], id?: Api.IdOf<T>): T[] {
    const list = listOf(items);
    const { ids, places } = collectIds(list, id);
    const fresh = this.#call(ids, ({ wasm, writer }, chain) => writer.fresh(wasm.filterByChain(chain, nowSeconds())));
    return freshItems(list, places, fresh);
  }

  snapshot(now = nowSeconds()): Api.Snapshot {
    checkTime(now);
    const answer = this.#call([], ({ wasm }, chain) => readAnswer(wasm.memory, wasm.shipChain(chain, now)));
    const [[shippedAt = now, version]] = answer;
    // A format without epochs has no version to ship.
    return {
      ...(version === undefined ? {} : { version }),
      shards: idsOf(answer).map(([shard]) => shard),
      ...(this.#format === undefined ? {} : { format: this.#format }),
      now: shippedAt,
    };
  }

  free(): void {
    const [engine, chain] = [this.#engine, this.#chain];
    if (chain === undefined) return;
    this.#chain = undefined;
    forgotten.unregister(this);
    engine.call(() => engine.wasm.freeChain(chain));
  }

  /** A chain's answers matter to whoever stores them: what cannot be answered throws. */
  #call<T>(ids: readonly Api.ItemId[], run: (engine: Engine, chain: number) => T): T {
    const [engine, chain] = [this.#engine, this.#chain];
    if (chain === undefined) throw new SeenGuardError("bad-option", "this chain was freed");
    const result = withBatch(engine, ids, () => run(engine, chain));
    if (result === undefined)
      throw new SeenGuardError("trap", "the Wasm instance trapped: make a new chain from what the store holds");
    return result;
  }
}

/** Calls into the module with ids or shards that are in its batch; `undefined`: it has trapped, or has no memory for them. */
function withBatch<T>(engine: Engine, texts: readonly Api.ItemId[], run: (wasm: Engine["wasm"]) => T): T | undefined {
  return engine.call(() => {
    if (!engine.writer.write(texts)) throw new RangeError("out of memory");
    const result = run(engine.wasm);
    engine.writer.done();
    return result;
  });
}
