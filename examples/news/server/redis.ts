/** The Redis at REDIS_URL, and the store of the readers' histories in it. */
import { Redis } from "ioredis";
import { redisStore } from "seenguard/server";

export const redis = new Redis(process.env.REDIS_URL ?? "redis://localhost:6379");

/** A device's namespace is its account. */
export const seen = redisStore(redis, { namespaceOf: (account) => account });
