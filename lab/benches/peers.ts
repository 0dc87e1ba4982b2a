/** Who is measured: the guard, npm's Bloom filters, and what is written by hand. To add one, name it in `peers`. */
import bloomFilterModule from "bloom-filters/dist/bloom/bloom-filter.js";
import { BloomFilter } from "bloomfilter";
import { SeenGuard } from "seenguard";
import { ShardChain } from "seenguard/server";
import { set, sortedHashes } from "./handwritten.ts";
import type { Item, Peer } from "./peer.ts";

/** ε of each shard. */
const FALSE_POSITIVE_RATE = 0.001;

/** The engine as JavaScript though there is Wasm: an option that the package has for its tests. */
const asScript = { [Symbol.for("seenguard.engine")]: "js", fallback: () => import("seenguard/engine-js") };

const guardOn = (name: string, engine: object): Peer => ({
  name,
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
    const guard = await SeenGuard.open({
      namespace: `bench:${String(Math.random())}`,
      storage: "none",
      ...engine,
    });
    return {
      take(message) {
        const { applied } = guard.apply(JSON.parse(message) as { shards: string[] });
        if (!applied) throw new Error("this message was not taken");
      },
      fresh: (items) => guard.filter(items),
    };
  },
});

const seenguard = guardOn("seenguard", {});

/** The same where a page may not run WebAssembly. */
const seenguardAsScript = guardOn("seenguard as JavaScript", asScript);

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
      fresh(items: readonly Item[]) {
        const fresh: Item[] = [];
        for (const item of items) if (!isInAny(filters, item.id)) fresh.push(item);
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
      fresh: (items: readonly Item[]) => items.filter(({ id }) => !filters.some((filter) => filter.has(id))),
    });
  },
};

/** The first is the one that the others are compared with. */
export const peers: readonly Peer[] = [seenguard, set, sortedHashes, seenguardAsScript, bloomfilter, bloomFilters];

/** Those that all workloads measure; a few show the others. */
export const usualPeers: readonly Peer[] = [seenguard, set, bloomfilter];

/** Those whose servers send something of their own. */
export const senders: readonly Peer[] = peers.filter((peer) => peer !== seenguardAsScript);

function isInAny(filters: readonly BloomFilter[], id: string): boolean {
  for (const filter of filters) if (filter.test(id)) return true;
  return false;
}
