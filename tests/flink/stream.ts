/** Impressions in Redis Streams, and what a chain makes of them that nothing disturbs. */
import type { Redis } from "ioredis";
import { ShardChain, redisStore, type ChainOptions, type SeenStore } from "seenguard/server";

/** With so few false positives, a shard's ids can be read out of it by asking for each. */
export const CHAIN = {
  capacity: 12,
  shards: 20,
  falsePositiveRate: 1e-9,
  ttlSeconds: 30 * 86_400,
} satisfies ChainOptions;
export const STREAMS = [0, 1, 2, 3].map((partition) => `impressions:${String(partition)}`);
export const IMPRESSIONS_EACH = 40;
/** So many of a user's entries come a second time, up to so many impressions later. */
const REPEATED_EACH = 4;
const REPEATED_AFTER = 10;
/** Late on their way to the stream, so that times are out of order. */
const MOST_LATE_MS = 60_000;

export interface Entry {
  readonly id: string;
  readonly at: number;
  /** When the stream got it, Unix ms. */
  readonly arrived: number;
}

export const streamOf = (user: number): string => STREAMS[user % STREAMS.length] ?? "";
export const nameOf = (user: number): string => `ада-${String(user)}`;
export const idsOf = (user: number): string[] =>
  Array.from({ length: IMPRESSIONS_EACH }, (_, round) => `article-${String(user)}-${String(round)}`);

/** In which order a user's ids come, as indices. */
const order = Array.from({ length: IMPRESSIONS_EACH }, (_, round) => {
  const repeats = round >= REPEATED_AFTER && round % (IMPRESSIONS_EACH / REPEATED_EACH) === 0;
  return repeats ? [round, round - REPEATED_AFTER] : [round];
}).flat();

/**
 * Adds the users' impressions, round by round, and waits after each. Not all begin in the first round, so that in each
 * round some begin a new shard.
 */
export async function addImpressions(redis: Redis, users: readonly number[], afterRound = () => Promise.resolve()) {
  for (let round = 0; round < order.length + CHAIN.capacity - 1; round++) {
    const additions = redis.pipeline();
    for (const user of users) {
      const place = round - (user % CHAIN.capacity);
      const id = idsOf(user)[order[place] ?? -1];
      if (id === undefined) continue;
      const fields = { user: nameOf(user), id, at: String(Date.now() - ((place * 7919) % MOST_LATE_MS)) };
      additions.xadd(streamOf(user), "*", ...Object.entries(fields).flat());
    }
    await additions.exec();
    await afterRound();
  }
}

/** What the streams have of each user, in its order. */
export async function readStreams(redis: Redis): Promise<Map<string, Entry[]>> {
  const users = new Map<string, Entry[]>();
  for (const stream of STREAMS) {
    for (const [entryId, [, user = "", , id = "", , at = ""]] of await redis.xrange(stream, "-", "+")) {
      const entries = users.get(user) ?? [];
      entries.push({ id, at: Number(at), arrived: Number(entryId.split("-")[0]) });
      users.set(user, entries);
    }
  }
  return users;
}

/** The list of a user whose entries are taken in once and in their order. */
export async function undisturbedList(entries: readonly Entry[]): Promise<string[]> {
  const chain = await ShardChain.create(CHAIN);
  for (const { id, at, arrived } of entries)
    chain.ingest({ namespace: "ada", receivedAt: arrived, impressions: [{ id, at }], unseen: [] });
  const { shards } = chain.snapshot();
  chain.free();
  return shards;
}

/** The ids of each shard of such a list, the oldest first. */
export function rotated(ids: readonly string[]): Set<string>[] {
  const shards: Set<string>[] = [];
  for (const id of ids) {
    const newest = shards.at(-1);
    if (newest === undefined || newest.size >= CHAIN.capacity) shards.push(new Set([id]));
    else newest.add(id);
  }
  return shards;
}

export const storeOf = (redis: Redis): SeenStore => redisStore(redis, CHAIN);

/** Those of the users whose lists do not yet answer for all of their ids. */
export async function incomplete(store: SeenStore, users: readonly number[]): Promise<number[]> {
  const isMissing = async (user: number): Promise<boolean> => {
    const chain = await store.read(nameOf(user));
    const missing = chain.filter(idsOf(user));
    chain.free();
    return missing.length > 0;
  };
  const answers = await Promise.all(users.map(isMissing));
  return users.filter((_, index) => answers[index]);
}
