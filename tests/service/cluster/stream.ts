/** What the test and its consumers agree on. */
import type { ChainOptions } from "seenguard/server";

export const STREAM = "impressions";
export const GROUP = "recorders";
export const CHAIN: ChainOptions = { capacity: 25, shards: 10, falsePositiveRate: 0.0001, ttlSeconds: 30 * 86_400 };
