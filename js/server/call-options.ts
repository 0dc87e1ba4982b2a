/** Checks what the methods of `ShardChain` take beside ids and items. */
import { aFunction, checkOptions, type Rule, type Rules } from "../options.js";
import type { IdOf } from "../types/server.js";

export interface TimeOptions {
  /** Unix seconds. */
  readonly now?: number;
}
export interface FilterOptions<T> extends TimeOptions {
  readonly id: IdOf<T>;
}

/** Shards hold times in 32 bits. A later one is most likely milliseconds. */
const MAX_SECONDS = 2 ** 32 - 1;

const now: Rule = [
  "a time in Unix seconds, up to 2^32 − 1 (milliseconds are more)",
  (value) => typeof value === "number" && value >= 0 && value <= MAX_SECONDS,
];
const timeRules = { now } satisfies Rules;
const filterRules = { now, id: aFunction } satisfies Rules;

const serverClock = () => Math.floor(Date.now() / 1000);

/** The time that a method was given, else this server's. */
export function checkTime(method: string, options: unknown = {}): number {
  const { now = serverClock() } = checkOptions(method, options, timeRules) as TimeOptions;
  return now;
}

/** The same for `filter`, and how to find an item's id. */
export function checkFilterOptions<T>(options: unknown = {}): { now: number; id: IdOf<T> | undefined } {
  const { now = serverClock(), id } = checkOptions("ShardChain.filter", options, filterRules) as Partial<
    FilterOptions<T>
  >;
  return { now, id };
}
