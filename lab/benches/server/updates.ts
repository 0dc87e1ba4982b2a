/** Measures the updates of one Node process with its own Redis, of different users concurrently. */
import { Redis } from "ioredis";
import { redisStore, type ChainOptions } from "seenguard/server";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { shortIds } from "../ids.ts";

const options: ChainOptions = { capacity: 1000, shards: 5, falsePositiveRate: 0.001 };
/** The impressions of one update. */
const RECORDED = 10;

/** The concurrent updates over one connection, which pipelines their commands. */
export const CONCURRENCY = 64;
const USERS = 200;

/** Returns the milliseconds of one update in each of `rounds`. */
export async function measureUpdates(rounds: number, updatesARound: number): Promise<number[]> {
  const server = await startRedis();
  const client = new Redis({ port: server.port, enableAutoPipelining: true });
  try {
    const store = redisStore(client, options);
    const idsOf = listsOfIds();
    const update = async (turn: number) => {
      await store.update(`user-${String(turn % USERS)}`, (chain) => chain.record(idsOf(turn)));
    };
    for (let user = 0; user < USERS; user++) {
      await store.update(`user-${String(user)}`, (chain) => chain.record(shortIds(5000, user)));
    }
    await concurrently(updatesARound, update); // warm
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      await concurrently(updatesARound, update);
      times.push((performance.now() - start) / updatesARound);
    }
    return times;
  } finally {
    client.disconnect();
    await server.stop();
  }
}

/** A fast generator of new ids for each update. */
function listsOfIds(): (turn: number) => string[] {
  const [prefix = ""] = shortIds(1, -1);
  let made = 0;
  return () => Array.from({ length: RECORDED }, () => prefix.slice(0, 7) + String(made++).padStart(7, "0"));
}

async function concurrently(times: number, operation: (turn: number) => Promise<void>): Promise<void> {
  let turn = 0;
  const lane = async () => {
    while (turn < times) await operation(turn++);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
}
