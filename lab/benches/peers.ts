/** The contenders: the guard, npm's Bloom filters, and handwritten code. To add one, add it to `peers`. */
import bloomFilterModule from "bloom-filters/dist/bloom/bloom-filter.js";
import { BloomFilter } from "bloomfilter";
import { SeenGuard } from "seenguard";
import { ShardChain } from "seenguard/server";

/** An item of a feed. */
export interface Item {
  readonly id: string;
}

/**
 * A contender. After a server's message with seen items, it returns the items that are new to it. Each has a loop of
 * its own: a shared one would call a function that no engine can inline, and slow down the fastest contender most.
 */
export interface Peer {
  readonly name: string;
  /** Makes a server's message with these seen ids, one list for each shard. */
  message(shards: readonly (readonly string[])[]): Promise<string>;
  /** Makes a client without seen items. */
  client(): Promise<Client>;
}

export interface Client {
  /** Replaces the seen items by those of a message. */
  take(message: string): void;
  /** Returns the new items, in their order. */
  fresh(items: readonly Item[]): readonly Item[];
}

/** The false positive rate of each shard. */
const FALSE_POSITIVE_RATE = 0.001;

/** The option for tests that uses the JavaScript engine instead of Wasm. */
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
        if (!applied) throw new Error("the message was not applied");
      },
      fresh: (items) => guard.filter(items),
    };
  },
});

const seenguard = guardOn("seenguard", {});

/** The guard on a page that may not run WebAssembly. */
const seenguardAsScript = guardOn("seenguard as JavaScript", asScript);

/** The fastest of npm's Bloom filters. */
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

// The package's entry needs a Buffer, which browsers do not have.
const { default: OtherFilter } = bloomFilterModule;

/** The npm package with the most kinds of filters. */
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

/** The usual approach of feeds today. */
const set: Peer = {
  name: "Set",
  message: (shards) => Promise.resolve(JSON.stringify(shards.flat())),
  client() {
    let seen = new Set<string>();
    return Promise.resolve({
      take(message: string) {
        seen = new Set(JSON.parse(message) as string[]);
      },
      fresh(items: readonly Item[]) {
        const fresh: Item[] = [];
        for (const item of items) if (!seen.has(item.id)) fresh.push(item);
        return fresh;
      },
    });
  },
};

/** Sorted 32-bit hashes with binary search: few bytes, and a known error rate. */
const sortedHashes: Peer = {
  name: "sorted Uint32Array",
  message: (shards) => Promise.resolve(JSON.stringify(encode(Uint32Array.from(shards.flat(), fnv1a).sort()))),
  client() {
    let hashes = new Uint32Array(0);
    return Promise.resolve({
      take(message: string) {
        hashes = decode(JSON.parse(message) as string);
      },
      fresh(items: readonly Item[]) {
        const fresh: Item[] = [];
        for (const item of items) if (!contains(hashes, fnv1a(item.id))) fresh.push(item);
        return fresh;
      },
    });
  },
};

/** All contenders; the first is the baseline. */ export const peers: readonly Peer[] = [
  seenguard,
  set,
  sortedHashes,
  seenguardAsScript,
  bloomfilter,
  bloomFilters,
];

/** The contenders of all workloads; a few workloads measure the others, too. */
export const usualPeers: readonly Peer[] = [seenguard, set, bloomfilter];

/** The contenders with a message format of their own. */
export const senders: readonly Peer[] = peers.filter((peer) => peer !== seenguardAsScript);

function isInAny(filters: readonly BloomFilter[], id: string): boolean {
  for (const filter of filters) if (filter.test(id)) return true;
  return false;
}

/** FNV-1a over UTF-16 units, 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

function contains(sorted: Uint32Array, value: number): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === value;
}

/** Encodes numbers as base64. */
function encode(numbers: Uint32Array): string {
  return btoa(Array.from(new Uint8Array(numbers.buffer), (byte) => String.fromCharCode(byte)).join(""));
}

function decode(base64: string): Uint32Array<ArrayBuffer> {
  return new Uint32Array(Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0)).buffer);
}
