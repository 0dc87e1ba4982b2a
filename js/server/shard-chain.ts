/** `ShardChain`: one user's shards on the server. */
import { refuse, SeenGuardError } from "../errors.js";
import type { Chain, TextBatch } from "../generated/server/seenguard.js";
import { collectIds, collectRecorded, copyList, freshItems, isId, type CollectedIds } from "../input/ids.js";
import type * as Api from "../types/server.js";
import {
  checkFilterOptions,
  checkSnapshotOptions,
  checkTime,
  type FilterOptions,
  type RequestOptions,
  type TimeOptions,
} from "./call-options.js";
import { checkChainOptions, withOptions, type GivenOptions } from "./chain-options.js";
import { call, callWith, loadServerEngine, type ServerEngine } from "./engine.js";
import type { CheckedPage } from "./page-request.js";
import { checkReceived } from "./report.js";
import { checkStored, type StoredChain } from "./stored.js";

interface SnapshotOptions extends TimeOptions {
  readonly held?: string | null;
}

type Rejected = readonly { index: number; reason: string }[];

/** The state of a `ShardChain`. */
interface Handle {
  readonly engine: ServerEngine;
  /** `undefined` once it was freed. */
  chain: Chain | undefined;
}

/** The stored data of a user's devices. */
export interface KnownDevices {
  /** Their pending impressions, in lines. */
  readonly kept: string;
  /** How long these are valid; absent: the default. */
  readonly pendingSeconds: number | undefined;
  readonly namespace: string | undefined;
}

const NO_DEVICES: KnownDevices = { kept: "", pendingSeconds: undefined, namespace: undefined };

export class ShardChain implements Api.ShardChain {
  readonly rejected: Rejected;
  /** A function: proxies, such as those of Vue and Alpine, wrap the objects that they find in others. */
  private readonly handle: () => Handle;

  private constructor(engine: ServerEngine, chain: Chain) {
    const handle: Handle = { engine, chain };
    this.handle = () => handle;
    this.rejected = call(engine, () => chain.rejected() as Rejected);
  }

  static async create(options: Api.ChainOptions = {}): Promise<ShardChain> {
    return ShardChain.make(checkStored([]), checkChainOptions(options));
  }

  static async from(stored: Api.Snapshot | readonly string[], options: Api.ChainOptions = {}): Promise<ShardChain> {
    const settings = checkChainOptions(options);
    return ShardChain.make(checkStored(stored), settings);
  }

  private static async make({ shards, unseen, forgetBefore }: StoredChain, options: GivenOptions): Promise<ShardChain> {
    const chain = await ShardChain.ofShards(shards, options, false);
    const times = timesOf(unseen);
    chain.callWith(idsOf(unseen), (restored, batch) => restored.restoreExceptions(batch, times, forgetBefore));
    return chain;
  }

  /** For stores: from shards only. `isOfStore`: missing options have the defaults of stores. */
  static async ofShards(shards: readonly string[], options: GivenOptions, isOfStore: boolean): Promise<ShardChain> {
    const engine = await loadServerEngine();
    const { batch } = engine.writer;
    const chain = withOptions(engine, options, isOfStore, (options) =>
      callWith(engine, shards, () => new engine.classes.Chain(options, batch)),
    );
    return new ShardChain(engine, chain);
  }

  /** For stores: restores the fields stored beside the shards. Returns how many damaged ones were dropped. */
  restoreFields(fields: readonly string[]): number {
    return this.callWith(fields, (chain, batch) => chain.restoreFields(batch));
  }

  /** For stores: the form to store, with unreadable texts. */
  stored(now: number): Api.StoredChain {
    return this.call((chain) => chain.stored(now) as Api.StoredChain);
  }

  /** For stores: how long to keep the chain, in seconds; 0: without expiry. */
  lifeSeconds(now: number): number {
    return this.call((chain) => chain.lifeSeconds(now));
  }

  /** For `pageOf` and stores. */
  page<T>(
    ranked: readonly T[],
    request: CheckedPage<T>,
    now: number,
    devices: KnownDevices = NO_DEVICES,
  ): Api.Page<T> & { snapshot: Api.Snapshot } {
    const { size, repeats, cursor, held, pending, id } = request;
    const { kept, pendingSeconds, namespace } = devices;
    const list = copyList(ranked);
    const collected = collectOne(list, id);
    return this.callWith(collected.ids, (chain, batch, { writer }) => {
      const last = repeats === "last";
      const shipped: unknown = chain.page(
        batch,
        size,
        last,
        cursor,
        held,
        pending,
        kept,
        pendingSeconds,
        namespace,
        now,
      );
      const { next, snapshot } = shipped as { next?: string; snapshot: Api.Snapshot };
      const indices = writer.indices(batch.answered());
      const items = Array.from(indices, (index) => list[collected.places?.[index] ?? index] as T);
      return { items, next: next ?? null, snapshot };
    });
  }

  record(ids: Api.ItemId | Iterable<Api.ItemId>, options?: TimeOptions): number {
    const now = checkTime("ShardChain.record", options);
    return this.callWith(collectRecorded(ids, isId), (chain, batch) => chain.record(batch, now));
  }

  ingest(report: Api.ReceivedReport): number {
    const { impressions, unseen, receivedAt, forgotten = false } = checkReceived(report);
    const all = [...unseen, ...impressions];
    return this.callWith(idsOf(all), (chain, batch) =>
      chain.ingest(batch, timesOf(all), unseen.length, receivedAt, forgotten),
    );
  }

  unsee(ids: Api.ItemId | Iterable<Api.ItemId>, options?: TimeOptions): void {
    const now = checkTime("ShardChain.unsee", options);
    this.callWith(collectRecorded(ids, isId), (chain, batch) => chain.unsee(batch, now));
  }

  forget(options?: TimeOptions): void {
    const now = checkTime("ShardChain.forget", options);
    this.call((chain) => chain.forget(now));
  }

  has(id: Api.ItemId, options?: TimeOptions): boolean {
    const now = checkTime("ShardChain.has", options);
    return this.fresh(isId(id) ? [id] : [], now).length === 0 && isId(id);
  }

  filter<T extends Api.Identified>(items: readonly T[], options?: RequestOptions): T[];
  filter<T>(items: readonly T[], options: FilterOptions<T>): T[];
  filter<T>(items: readonly T[], options?: Partial<FilterOptions<T>>): T[] {
    const { id, now, pending } = checkFilterOptions<T>(options);
    const list = copyList(items);
    const collected = collectOne(list, id);
    return freshItems(list, collected.places, this.fresh(collected.ids, now, pending));
  }

  snapshot(options?: SnapshotOptions): Api.Snapshot & { shards: string[] } {
    const { now, held } = checkSnapshotOptions(options);
    return this.call((chain) => chain.snapshot(now, held) as Api.Snapshot & { shards: string[] });
  }

  free(): void {
    const handle = this.handle();
    const { engine, chain } = handle;
    handle.chain = undefined;
    if (chain) engine.call(() => chain.free());
  }

  /** The indices of the fresh ids. */
  private fresh(ids: readonly Api.ItemId[], now: number, pending?: string): Uint32Array {
    return this.callWith(ids, (chain, batch, { writer }) => writer.indices(chain.filter(batch, pending, now)));
  }

  /** Calls into the chain. Throws if it was freed. */
  private call<T>(run: (chain: Chain, engine: ServerEngine) => T): T {
    const { engine, chain } = this.handle();
    if (!chain) throw new SeenGuardError("bad-option", "this chain was freed");
    return call(engine, () => run(chain, engine));
  }

  /** The same with texts in the engine's batch. */
  private callWith<T>(
    texts: readonly Api.ItemId[],
    run: (chain: Chain, batch: TextBatch, engine: ServerEngine) => T,
  ): T {
    return this.call((chain, engine) => callWith(engine, texts, () => run(chain, engine.writer.batch, engine)));
  }
}

/** The first id of each item of a list. */
function collectOne<T>(list: readonly T[], idOf: Api.IdOf<T> | undefined): CollectedIds {
  const collected = collectIds(list, idOf, isId);
  if (collected.ends) refuse("on a server an item has one id: of a repost its original's");
  return collected;
}

function idsOf(impressions: readonly Api.Impression[]): string[] {
  return impressions.map(({ id }) => id);
}

function timesOf(impressions: readonly Api.Impression[]): Float64Array {
  return Float64Array.from(impressions, ({ at }) => at);
}
