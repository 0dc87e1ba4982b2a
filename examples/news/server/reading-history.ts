/** Which articles a reader has opened, the latest first: a sorted set each. */
import type { Redis } from "ioredis";

const MOST = 100;

export function readingHistory(redis: Redis) {
  const keyOf = (account: string) => `read:${account}`;
  return {
    list: (account: string) => redis.zrevrange(keyOf(account), 0, MOST - 1),
    add: (account: string, id: string) => redis.zadd(keyOf(account), Date.now(), id),
    remove: (account: string, id: string) => redis.zrem(keyOf(account), id),
    clear: (account: string) => redis.del(keyOf(account)),
  };
}
