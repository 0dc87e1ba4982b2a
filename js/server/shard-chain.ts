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
import { call, callWith, freeIn, loadServerEngine, type ServerEngine } from "./engine.js";
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

/** A page's candidates, size, whether seen ones follow, cursor, held shards, and pending list. */
type PageArguments = [
  batch: TextBatch,
  size: number,
  last: boolean,
  cursor: string | undefined,
  held: string | undefined,
  pending: string | undefined,
];

export class ShardChain implements Api.ShardChain {
  readonly rejected: Rejected;
  /** A function, since proxies, such as those of Vue and Alpine, wrap objects in properties. */
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
    const engine = await loadServerEngine();
    const { batch } = engine.writer;
    const of = withOptions(engine, options, false, (options) =>
      callWith(engine, shards, () => new engine.classes.Chain(options, batch)),
    );
    const chain = new ShardChain(engine, of);
    const times = timesOf(unseen);
    chain.callWith(idsOf(unseen), (restored, batch) => restored.restore(batch, times, forgetBefore));
    return chain;
  }

  /** For stores: wraps a chain that a call has loaded. */
  static wrap(engine: ServerEngine, take: () => Chain | undefined): ShardChain {
    const chain = call(engine, take);
    if (!chain) throw new SeenGuardError("engine", "a loaded chain is missing (please report this bug)");
    return new ShardChain(engine, chain);
  }

  /** For stores: moves the chain back into the engine, after which this object counts as freed. */
  unwrap<T>(give: (chain: Chain) => T): T {
    return this.call((chain) => {
      this.handle().chain = undefined;
      return give(chain);
    });
  }

  /** For `pageOf`. */
  page<T>(ranked: readonly T[], request: CheckedPage<T>, now: number): Api.Page<T> {
    return this.call((chain, engine) =>
      makePage(engine, ranked, request, (batch, ...page) => chain.page(batch, ...page, now)),
    );
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
    return freshItems(list, collected.indices, this.fresh(collected.ids, now, pending));
  }

  snapshot(options?: SnapshotOptions): Api.Snapshot & { shards: string[] } {
    const { now, held } = checkSnapshotOptions(options);
    return this.call((chain) => chain.snapshot(now, held) as Api.Snapshot & { shards: string[] });
  }

  free(): void {
    const handle = this.handle();
    const { engine, chain } = handle;
    handle.chain = undefined;
    if (chain) freeIn(engine, chain);
  }

  /** The indices of the fresh ids. */
  private fresh(ids: readonly Api.ItemId[], now: number, pending?: string): Uint32Array {
    return this.callWith(ids, (chain, batch, { writer }) => writer.indices(chain.filter(batch, pending, now)));
  }

  /** Calls into the chain. Throws if it was freed. */
  private call<T>(run: (chain: Chain, engine: ServerEngine) => T): T {
    const { engine, chain } = this.handle();
    if (!chain) throw new SeenGuardError("bad-option", "this chain was freed: create another one");
    return call(engine, () => run(chain, engine));
  }

  /** Calls into the chain with strings in the engine's batch. */
  private callWith<T>(
    strings: readonly Api.ItemId[],
    run: (chain: Chain, batch: TextBatch, engine: ServerEngine) => T,
  ): T {
    return this.call((chain, engine) => callWith(engine, strings, () => run(chain, engine.writer.batch, engine)));
  }
}

/** A page that the engine makes. It is degraded if it has no snapshot. */
export function makePage<T>(
  engine: ServerEngine,
  ranked: readonly T[],
  { size, repeats, cursor, held, pending, id }: CheckedPage<T>,
  make: (...page: PageArguments) => unknown,
): Api.Page<T> {
  const list = copyList(ranked);
  const collected = collectOne(list, id);
  return callWith(engine, collected.ids, () => {
    const { writer } = engine;
    const shipped = make(writer.batch, size, repeats === "last", cursor, held, pending);
    const { next = null, snapshot } = shipped as { next?: string; snapshot?: Api.Snapshot };
    const indices = writer.indices(writer.batch.answered());
    const items = Array.from(indices, (index) => list[collected.indices?.[index] ?? index] as T);
    return { items, next, ...(snapshot ? { snapshot } : { degraded: true }) };
  });
}

/** The first id of each item of a list. */
function collectOne<T>(list: readonly T[], idOf: Api.IdOf<T> | undefined): CollectedIds {
  const collected = collectIds(list, idOf, isId);
  if (collected.ends) refuse("on a server an item has one id: for a repost, return its original's");
  return collected;
}

function idsOf(impressions: readonly Api.Impression[]): string[] {
  return impressions.map(({ id }) => id);
}

function timesOf(impressions: readonly Api.Impression[]): Float64Array {
  return Float64Array.from(impressions, ({ at }) => at);
}
