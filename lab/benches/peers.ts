/** Who is measured: the guard, npm's Bloom filters, and what is written by hand. To add one, name it in `peers`. */
import bloomFilterModule from "bloom-filters/dist/bloom/bloom-filter.js";
import { BloomFilter } from "bloomfilter";
import { SeenGuard } from "seenguard";
import { ShardChain } from "seenguard/server";

/** An item of a feed. */
export interface Item {
  readonly id: string;
}

/**
 * One of those that are measured: it answers the same question as all, "which of these items are new to me?",
 * after a message with seen items as a server would send it. Each has a plain loop of its own: one that all share would
 * call through a function that no engine can inline, and slow down the quickest most.
 */
export interface Peer {
  readonly name: string;
  /** What a server sends to say that these ids were seen; one list a shard. */
  message(shards: readonly (readonly string[])[]): Promise<string>;
  /** One that knows no item yet. */
  client(): Promise<Client>;
}

export interface Client {
  /** Knows what this message says, in place of what earlier ones said. */
  take(message: string): void;
  /** The items that are new to it, in their order. */
  fresh(items: readonly Item[]): readonly Item[];
}

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

/** 32 bits of hash for each id, in order, searched by halving: few bytes, and a known rate of error. */
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

/** As base64. */
function encode(numbers: Uint32Array): string {
  return btoa(Array.from(new Uint8Array(numbers.buffer), (byte) => String.fromCharCode(byte)).join(""));
}

function decode(base64: string): Uint32Array<ArrayBuffer> {
  return new Uint32Array(Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0)).buffer);
}
