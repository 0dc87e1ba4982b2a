/** `ShardChain`: one user's shards on the server. */
import { SeenGuardError } from "../errors.js";
import type { Chain } from "../generated/server/seenguard.js";
import {
  collectIds,
  collectRecorded,
  copyList,
  firstOfEach,
  freshItems,
  isUsable,
  splitItems,
  type ItemIdList,
} from "../ids.js";
import type * as Api from "../types/server.js";
import {
  checkFilterOptions,
  checkSnapshotOptions,
  checkTime,
  type FilterOptions,
  type RequestOptions,
  type TimeOptions,
} from "./call-options.js";
import { checkChainOptions, type ChainSettings } from "./chain-options.js";
import { call, callWithAll, callWithParts, loadServerEngine, type ServerEngine } from "./engine.js";
import { checkReport } from "./report.js";
import { checkStored, type StoredChain } from "./stored.js";

interface SnapshotOptions extends TimeOptions {
  readonly held?: string | null;
}

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
    return ShardChain.make(checkStored([]), checkChainOptions(options));
  }

  static async from(stored: Api.Snapshot | readonly string[], options: Api.ChainOptions = {}): Promise<ShardChain> {
    const settings = checkChainOptions(options);
    return ShardChain.make(checkStored(stored), settings);
  }

  private static async make(stored: StoredChain, settings: ChainSettings): Promise<ShardChain> {
    const engine = await loadServerEngine();
    const { batch } = engine.writer;
    const { format, capacity, shards, falsePositiveRate, seed, ttlSeconds } = settings;
    const chain = callWithAll(
      engine,
      { ids: stored.shards },
      () => new engine.classes.Chain(...format, capacity, shards, falsePositiveRate, seed, ttlSeconds, batch),
    );
    callWithAll(engine, idsOf(stored.unseen), () => {
      chain.restoreExceptions(batch, timesOf(stored.unseen), stored.forgetBefore);
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

  take(report: Api.Report, options?: TimeOptions): number {
    const now = checkTime("ShardChain.take", options);
    const { impressions, unseen, now: sentMs } = checkReport(report);
    const chain = this.live();
    const all = [...unseen, ...impressions];
    return callWithAll(this.engine, idsOf(all), () =>
      chain.take(this.engine.writer.batch, timesOf(all), unseen.length, sentMs, now),
    );
  }

  unsee(ids: Api.ItemId | Iterable<Api.ItemId>, options?: TimeOptions): void {
    const now = checkTime("ShardChain.unsee", options);
    const chain = this.live();
    callWithAll(this.engine, { ids: collectRecorded(ids) }, () => chain.unsee(this.engine.writer.batch, now));
  }

  forget(options?: TimeOptions): void {
    const now = checkTime("ShardChain.forget", options);
    const chain = this.live();
    call(this.engine, () => chain.forget(now));
  }

  has(id: Api.ItemId, options?: TimeOptions): boolean {
    const now = checkTime("ShardChain.has", options);
    return this.fresh({ ids: isUsable(id) ? [id] : [] }, now).length === 0 && isUsable(id);
  }

  filter<T extends Api.Identified>(items: readonly T[], options?: RequestOptions): T[];
  filter<T>(items: readonly T[], options: FilterOptions<T>): T[];
  filter<T>(items: readonly T[], options?: Partial<FilterOptions<T>>): T[] {
    const { id, now, pending } = checkFilterOptions<T>("ShardChain.filter", options);
    const list = copyList(items);
    const collected = collectIds(list, id);
    return freshItems(list, collected.places, this.fresh(collected, now, pending));
  }

  split<T extends Api.Identified>(items: readonly T[], options?: RequestOptions): { fresh: T[]; seen: T[] };
  split<T>(items: readonly T[], options: FilterOptions<T>): { fresh: T[]; seen: T[] };
  split<T>(items: readonly T[], options?: Partial<FilterOptions<T>>): { fresh: T[]; seen: T[] } {
    const { id, now, pending } = checkFilterOptions<T>("ShardChain.split", options);
    const list = copyList(items);
    const collected = collectIds(list, id);
    const chain = this.live();
    const { writer } = this.engine;
    return callWithAll(this.engine, collected, () => {
      const count = chain.split(writer.batch, pending, now);
      const all = writer.indices(writer.batch.answered());
      return splitItems(list, collected.places, all.subarray(0, count), all.subarray(count));
    });
  }

  snapshot(options?: SnapshotOptions): Api.Snapshot & { shards: string[] } {
    const { now, held } = checkSnapshotOptions(options);
    const chain = this.live();
    const shipped = call(this.engine, () => chain.snapshot(now, held) as Api.Snapshot & { shards: string[] });
    return { ...shipped, ...(this.format === undefined ? {} : { format: this.format }) };
  }

  free(): void {
    const { chain } = this;
    this.chain = undefined;
    if (chain) this.engine.call(() => chain.free());
  }

  /** The indices of the fresh items. */
  private fresh(list: ItemIdList, now: number, pending?: string): number[] {
    const chain = this.live();
    const { writer } = this.engine;
    const filter = () => writer.indices(chain.filter(writer.batch, pending, now));
    // Items in different parts may be duplicates of each other in turn: only all of them together tell.
    if (list.ends) return Array.from(callWithAll(this.engine, list, filter));
    const fresh: number[] = [];
    let parts = 0;
    callWithParts(this.engine, list.ids, (start) => {
      for (const index of filter()) fresh.push(start + index);
      parts++;
    });
    return parts > 1 ? firstOfEach(list, fresh) : fresh;
  }

  private live(): Chain {
    if (!this.chain) throw new SeenGuardError("bad-option", "this chain was freed");
    return this.chain;
  }
}

function idsOf(impressions: readonly Api.Impression[]): ItemIdList {
  return { ids: impressions.map(({ id }) => id) };
}

function timesOf(impressions: readonly Api.Impression[]): Float64Array {
  return Float64Array.from(impressions, ({ at }) => at);
}
