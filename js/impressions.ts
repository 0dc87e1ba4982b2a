/** Ids with times, as devices report them and snapshots list them. */
import type { Impression } from "./types/seenguard.js";

/** Most ids that a snapshot may list as taken back. */
export const MAX_UNSEEN = 1_000;
export const IMPRESSIONS = "each { id, at } with a text and Unix milliseconds";

/** Whether a value is a list of at most so many of them. */
export function isImpressions(list: unknown, most = Infinity): list is readonly Impression[] {
  // A sparse list has holes, which `every` does not meet.
  return Array.isArray(list) && list.length <= most && Array.from(list).every(isImpression);
}

function isImpression(value: unknown): value is Impression {
  const { id, at } = (value ?? {}) as Partial<Impression>;
  return typeof id === "string" && typeof at === "number" && Number.isFinite(at) && at >= 0;
}
