/** The articles that a reader has opened, the latest first: a sorted set for each reader. */
import { redis } from "./redis.ts";

const MAX_LISTED = 100;

const keyOf = (account: string) => `read:${account}`;

export const readingHistory = {
  list: (account: string) => redis.zrevrange(keyOf(account), 0, MAX_LISTED - 1),
  add: (account: string, id: string) => redis.zadd(keyOf(account), Date.now(), id),
  remove: (account: string, id: string) => redis.zrem(keyOf(account), id),
  clear: (account: string) => redis.del(keyOf(account)),
};
