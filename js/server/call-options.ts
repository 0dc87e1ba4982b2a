/** Checks the options of `ShardChain`'s methods. */
import {
  aFunction,
  anything,
  checkAllOptions,
  isNonEmptyString,
  isSeconds,
  type Rule,
  type Rules,
} from "../input/options.js";
import type { IdOf } from "../types/server.js";

export interface TimeOptions {
  /** Unix seconds. */
  readonly now?: number;
}
export interface RequestOptions extends TimeOptions {
  readonly pending?: string | null;
}
export interface FilterOptions<T> extends RequestOptions {
  readonly id: IdOf<T>;
}

export const timeRule: Rule = ["a time in Unix seconds, up to 2^32 − 1 (milliseconds are more)", isSeconds];
const timeRules = { now: timeRule } satisfies Rules;
const filterRules = { now: timeRule, id: aFunction, pending: anything } satisfies Rules;
const snapshotRules = { now: timeRule, held: anything } satisfies Rules;

/** The most characters of a `Seen-Held`: the names of 64 shards, joined. */
const MAX_HELD_LENGTH = 64 * 13 - 1;
/** The most characters of a `Seen-Pending`. */
const MAX_PENDING_LENGTH = 4_096;

export const serverClock = () => Date.now() / 1000;

/** The time in a method's options, else this server's. */
export function checkTime(method: string, options: unknown = {}): number {
  const { now = serverClock() } = checkAllOptions(method, options, timeRules) as TimeOptions;
  return now;
}

/** The options of `snapshot`, with the device's `Seen-Held`: `undefined` for an invalid one. */
export function checkSnapshotOptions(options: unknown = {}): { now: number; held: string | undefined } {
  const { now = serverClock(), held } = checkAllOptions("ShardChain.snapshot", options, snapshotRules) as {
    now?: number;
    held?: unknown;
  };
  return { now, held: requestedHeld(held) };
}

/** The options of `filter`, with the device's `Seen-Pending` and the function that returns an item's id. */
export function checkFilterOptions<T>(options: unknown = {}): {
  now: number;
  id: IdOf<T> | undefined;
  pending: string | undefined;
} {
  const given = checkAllOptions("ShardChain.filter", options, filterRules) as Partial<FilterOptions<T>>;
  const { now = serverClock(), id, pending } = given;
  return { now, id, pending: requestedPending(pending) };
}

/** The value if it is a string that is neither empty nor too long: requests are not trusted. */
export function requestedString(value: unknown, maxCharacters: number): string | undefined {
  return isNonEmptyString(value) && value.length <= maxCharacters ? value : undefined;
}

/** A valid `Seen-Held`. */
export function requestedHeld(value: unknown): string | undefined {
  return requestedString(value, MAX_HELD_LENGTH);
}

/** A valid `Seen-Pending`. */
export function requestedPending(value: unknown): string | undefined {
  return requestedString(value, MAX_PENDING_LENGTH);
}
