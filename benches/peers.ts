/**
 * Who is measured: each answers the same question, "which of these ids has nobody told me of?", after it was told by a message as a server would
 * send it. To add one, write a `Peer` and name it in `peers`.
 */
import { BloomFilter } from "bloomfilter";
import { SeenGuard, ShardChain } from "seenguard";

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
      fresh: (ids: readonly string[]) => select(ids, (id) => !seen.has(id)),
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
      fresh: (ids: readonly string[]) => select(ids, (id) => !isInAny(filters, id)),
    });
  },
};

/** The first is the one that the others are compared with. */
export const peers: readonly Peer[] = [seenguard, set, bloomfilter];

/** A plain loop: quicker than Array.prototype.filter, so nobody here is slowed down by how it was asked. */
function select(ids: readonly string[], passes: (id: string) => boolean): string[] {
  const fresh: string[] = [];
  for (const id of ids) if (passes(id)) fresh.push(id);
  return fresh;
}

function isInAny(filters: readonly BloomFilter[], id: string): boolean {
  for (const filter of filters) if (filter.test(id)) return true;
  return false;
}
