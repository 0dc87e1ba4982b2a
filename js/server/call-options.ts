/** Checks what the methods of `ShardChain` take beside ids and items. */
import { checkOptions, isFunction, type Rule, type Rules } from "../options.js";
import type { IdOf } from "../types/server.js";

/** Shards hold times as 32 bits of Unix seconds. A time beyond that is most likely milliseconds. */
const MAX_SECONDS = 2 ** 32 - 1;

const now: Rule = [
  "a time in Unix seconds, at most 2^32 − 1 (milliseconds are too large)",
  (value) => typeof value === "number" && value >= 0 && value <= MAX_SECONDS,
];

const timeRules = { now } satisfies Rules;
const filterRules = { now, id: ["a function", isFunction] } satisfies Rules;

/** The `now` of a method's options, by default this server's clock. */
export function checkTime(method: string, options: unknown = {}): number {
  const { now = Math.floor(Date.now() / 1000) } = checkOptions(method, options, timeRules) as { now?: number };
  return now;
}

/** The same for `filter`, which may be told how to find an item's id. */
export function checkFilterOptions<T>(options: unknown = {}): { now: number; id: IdOf<T> | undefined } {
  const checked = checkOptions("ShardChain.filter", options, filterRules) as { now?: number; id?: IdOf<T> };
  const { id, ...time } = checked;
  return { now: checkTime("ShardChain.filter", time), id };
}
