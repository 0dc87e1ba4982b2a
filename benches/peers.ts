/**
 * Who is measured: each answers the same question, "which of these ids has nobody told me of?", after it was told by a
 * message as a server would send it. To add one, write a `Peer` and name it in `peers`. Each has a plain loop of its
 * own: one that all share would call through a function that no engine can inline, and slow down the quickest most.
 */
import bloomFilterModule from "bloom-filters/dist/bloom/bloom-filter.js";
import { BloomFilter } from "bloomfilter";
import { SeenGuard } from "seenguard";
import { ShardChain } from "seenguard/server";

export interface Peer {
  readonly name: string;
  /** What a server sends to say that these ids were seen; one list a shard. */
  message(shards: readonly (readonly string[])[]): Promise<string>;
  /** Somebody who has been told of nothing yet. */
  client(): Promise<Client>;
}

export interface Client {
  /** Knows what this message says, in place of what earlier ones said. */
  take(message: string): void;
  /** Those that it was not told of, in their order. */
  fresh(ids: readonly string[]): readonly string[];
}

/** ε of each shard. */
const FALSE_POSITIVE_RATE = 0.001;

const seenguard: Peer = {
  name: "seenguard",
  async message(shards) {
    const capacity = Math.max(...shards.map((ids) => ids.length));
    const chain = await ShardChain.create({ capacity, shards: shards.length, falsePositiveRate: FALSE_POSITIVE_RATE });
    for (const ids of shards) chain.record(ids);
    // Without a version every message counts as new.
    const message = JSON.stringify({ shards: chain.snapshot().shards });
    chain.free();
    return message;
  },
  async client() {
    const guard = await SeenGuard.open({ namespace: `bench:${String(Math.random())}`, storage: "none" });
    return {
      take(message) {
        const { applied, reused } = guard.apply(JSON.parse(message) as { shards: string[] });
        if (!applied || reused > 0) throw new Error("this message was not taken, or was held already");
      },
      fresh: (ids) => guard.filter(ids),
    };
  },
};

/** What most feeds do now. */
const set: Peer = {
  name: "Set",
  message: (shards) => Promise.resolve(JSON.stringify(shards.flat())),
  client() {
    let seen = new Set<string>();
    return Promise.resolve({
      take(message: string) {
        seen = new Set(JSON.parse(message) as string[]);
      },
      fresh(ids: readonly string[]) {
        const fresh: string[] = [];
        for (const id of ids) if (!seen.has(id)) fresh.push(id);
        return fresh;
      },
    });
  },
};

/** The quickest of npm's Bloom filters. */
const bloomfilter: Peer = {
  name: "bloomfilter",
  message(shards) {
    const filters = shards.map((ids) => {
      const filter = BloomFilter.withTargetError(ids.length, FALSE_POSITIVE_RATE);
      for (const id of ids) filter.add(id);
      return filter.toJSON();
    });
    return Promise.resolve(JSON.stringify(filters));
  },
  client() {
    let filters: BloomFilter[] = [];
    return Promise.resolve({
      take(message: string) {
        filters = (JSON.parse(message) as unknown[]).map((filter) => BloomFilter.fromJSON(filter));
      },
      fresh(ids: readonly string[]) {
        const fresh: string[] = [];
        for (const id of ids) if (!isInAny(filters, id)) fresh.push(id);
        return fresh;
      },
    });
  },
};

// The whole package needs a Buffer, which browsers do not have.
const { default: OtherFilter } = bloomFilterModule;

/** The one of npm's packages that has the most kinds of filters. */
const bloomFilters: Peer = {
  name: "bloom-filters",
  message(shards) {
    const filters = shards.map((ids) => {
      const filter = OtherFilter.create(ids.length, FALSE_POSITIVE_RATE);
      for (const id of ids) filter.add(id);
      return filter.saveAsJSON();
    });
    return Promise.resolve(JSON.stringify(filters));
  },
  client() {
    let filters: InstanceType<typeof OtherFilter>[] = [];
    return Promise.resolve({
      take(message: string) {
        filters = (JSON.parse(message) as object[]).map((filter) => OtherFilter.fromJSON(filter));
      },
      fresh: (ids: readonly string[]) => ids.filter((id) => !filters.some((filter) => filter.has(id))),
    });
  },
};

/** The first is the one that the others are compared with. */
export const peers: readonly Peer[] = [seenguard, set, bloomfilter, bloomFilters];

/** Hundreds of times slower than the others: a few workloads show it. */
export const slowPeers: readonly Peer[] = [bloomFilters];

/** The guard against itself, with more and more shards. */
export const guardAlone: readonly Peer[] = [seenguard];

function isInAny(filters: readonly BloomFilter[], id: string): boolean {
  for (const filter of filters) if (filter.test(id)) return true;
  return false;
}
