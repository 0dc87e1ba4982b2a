/** Checks what the methods of `ShardChain` take beside ids and items. */
import { aFunction, anything, checkOptions, type Rule, type Rules } from "../options.js";
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
const snapshotRules = { now, held: anything } satisfies Rules;

/** The names of 64 shards, joined. */
const MAX_HELD_LENGTH = 64 * 13 - 1;

const serverClock = () => Date.now() / 1000;

/** The time that a method was given, else this server's. */
export function checkTime(method: string, options: unknown = {}): number {
  const { now = serverClock() } = checkOptions(method, options, timeRules) as TimeOptions;
  return now;
}

/** The same for `snapshot`, and what the device holds: `undefined` for what cannot be that, wherever it comes from. */
export function checkSnapshotOptions(options: unknown = {}): { now: number; held: string | undefined } {
  const { now = serverClock(), held } = checkOptions("ShardChain.snapshot", options, snapshotRules) as {
    now?: number;
    held?: unknown;
  };
  return { now, held: typeof held === "string" && held.length <= MAX_HELD_LENGTH ? held : undefined };
}

/** The same for `filter` and `split`, and how to find an item's id. */
export function checkFilterOptions<T>(method: string, options: unknown = {}): { now: number; id: IdOf<T> | undefined } {
  const { now = serverClock(), id } = checkOptions(method, options, filterRules) as Partial<FilterOptions<T>>;
  return { now, id };
}
