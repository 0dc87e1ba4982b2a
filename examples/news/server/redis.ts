/** The Redis at REDIS_URL, and what readers have seen, which is kept there. */
import { Redis } from "ioredis";
import { redisStore } from "seenguard/server";

export const redis = new Redis(process.env.REDIS_URL ?? "redis://localhost:6379");

const DAY = 86_400;
export const seen = redisStore(redis, { capacity: 281, shards: 20, falsePositiveRate: 0.00025, ttlSeconds: 30 * DAY });
