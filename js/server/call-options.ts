/** Checks what the methods of `ShardChain` take beside ids and items. */
import { aFunction, anything, checkOptions, isSeconds, isText, type Rule, type Rules } from "../input/options.js";
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

/** The names of 64 shards, joined. */
const MAX_HELD_LENGTH = 64 * 13 - 1;
/** What has more characters is no `Seen-Pending`. */
const MAX_PENDING_LENGTH = 4_096;

export const serverClock = () => Date.now() / 1000;

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
  return { now, held: requestedHeld(held) };
}

/** The same for `filter`: what the device has shown, and how to find an item's id. */
export function checkFilterOptions<T>(options: unknown = {}): {
  now: number;
  id: IdOf<T> | undefined;
  pending: string | undefined;
} {
  const given = checkOptions("ShardChain.filter", options, filterRules) as Partial<FilterOptions<T>>;
  const { now = serverClock(), id, pending } = given;
  return { now, id, pending: requestedPending(pending) };
}

/** A text that is not empty and not too long; what comes from a request may be anything. */
export function requestedText(value: unknown, mostCharacters: number): string | undefined {
  return isText(value) && value.length <= mostCharacters ? value : undefined;
}

/** What a device may say that it holds. */
export function requestedHeld(value: unknown): string | undefined {
  return requestedText(value, MAX_HELD_LENGTH);
}

/** What a device may say that it has pending. */
export function requestedPending(value: unknown): string | undefined {
  return requestedText(value, MAX_PENDING_LENGTH);
}
