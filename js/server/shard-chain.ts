/** `ShardChain`: one user's shards on the server. */
import { SeenGuardError } from "../errors.js";
import type { Chain } from "../generated/server/seenguard.js";
import { collectIds, collectRecorded, copyList, firstOfEach, freshItems, isUsable } from "../ids.js";
import type * as Api from "../types/server.js";
import { checkFilterOptions, checkTime, type FilterOptions, type TimeOptions } from "./call-options.js";
import { checkChainOptions, type ChainSettings } from "./chain-options.js";
import { call, callWithAll, callWithParts, loadServerEngine, type ServerEngine } from "./engine.js";

/** Stands for a stored element that is no text: it is no base64 either. */
const NOT_BASE64 = "!";

type Rejected = readonly { index: number; code: Api.ErrorCode }[];

export class ShardChain implements Api.ShardChain {
  readonly rejected: Rejected;
  private readonly engine: ServerEngine;
  /** `undefined` once it was freed. */
  private chain: Chain | undefined;
  private readonly format: Api.ShardFormat | undefined;

  private constructor(engine: ServerEngine, chain: Chain, format: Api.ShardFormat | undefined) {
    this.engine = engine;
    this.chain = chain;
    this.format = format;
    this.rejected = call(engine, () => chain.rejected() as Rejected);
  }

  static async create(options: Api.ChainOptions = {}): Promise<ShardChain> {
    return ShardChain.make([], checkChainOptions(options));
  }

  static async from(stored: Api.Snapshot | readonly string[], options: Api.ChainOptions = {}): Promise<ShardChain> {
    const settings = checkChainOptions(options);
    const shards: unknown = Array.isArray(stored) ? stored : (stored as Api.Snapshot | null | undefined)?.shards;
    if (!Array.isArray(shards))
      throw new SeenGuardError("bad-snapshot", "ShardChain.from takes a list of shards, or a snapshot");
    // Array.from fills the holes of a sparse list with undefined.
    const texts = Array.from(shards, (shard: unknown) => (typeof shard === "string" ? shard : NOT_BASE64));
    return ShardChain.make(texts, settings);
  }

  private static async make(stored: readonly string[], settings: ChainSettings): Promise<ShardChain> {
    const engine = await loadServerEngine();
    const { format, capacity, shards, falsePositiveRate, seed, ttlSeconds } = settings;
    const chain = callWithAll(engine, stored, () => {
      const { batch } = engine.writer;
      return new engine.classes.Chain(...format, capacity, shards, falsePositiveRate, seed, ttlSeconds, batch);
    });
    return new ShardChain(engine, chain, settings.shippedFormat);
  }

  record(ids: Api.ItemId | Iterable<Api.ItemId>, options?: TimeOptions): number {
    const now = checkTime("ShardChain.record", options);
    const chain = this.live();
    let unknown = 0;
    callWithParts(this.engine, collectRecorded(ids), () => {
      unknown += chain.record(this.engine.writer.batch, now);
    });
    return unknown;
  }

  has(id: Api.ItemId, options?: TimeOptions): boolean {
    const now = checkTime("ShardChain.has", options);
    return this.fresh(isUsable(id) ? [id] : [], now).length === 0 && isUsable(id);
  }

  filter<T extends Api.Identified>(items: readonly T[], options?: TimeOptions): T[];
  filter<T>(items: readonly T[], options: FilterOptions<T>): T[];
  filter<T>(items: readonly T[], options?: Partial<FilterOptions<T>>): T[] {
    const { id, now } = checkFilterOptions(options);
    const list = copyList(items);
    const { ids, places } = collectIds(list, id);
    return freshItems(list, places, this.fresh(ids, now));
  }

  snapshot(options?: TimeOptions): Api.Snapshot & { shards: string[] } {
    const now = checkTime("ShardChain.snapshot", options);
    const chain = this.live();
    const shipped = call(this.engine, () => chain.snapshot(now) as { version?: number; shards: string[]; now: number });
    return { ...shipped, ...(this.format === undefined ? {} : { format: this.format }) };
  }

  free(): void {
    const { chain } = this;
    this.chain = undefined;
    if (chain) this.engine.call(() => chain.free());
  }

  /** The indices of the ids that no live shard contains, of equal ones the first. */
  private fresh(ids: readonly Api.ItemId[], now: number): number[] {
    const chain = this.live();
    const { writer } = this.engine;
    const fresh: number[] = [];
    let parts = 0;
    callWithParts(this.engine, ids, (start) => {
      for (const index of writer.indices(chain.filter(writer.batch, now))) fresh.push(start + index);
      parts++;
    });
    return parts > 1 ? firstOfEach({ ids }, fresh) : fresh;
  }

  private live(): Chain {
    if (!this.chain) throw new SeenGuardError("bad-option", "this chain was freed");
    return this.chain;
  }
}
