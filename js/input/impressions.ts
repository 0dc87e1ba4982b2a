/** Ids with times, as devices report them and snapshots list them. */
import { copyList } from "./ids.js";
import type { Impression } from "../types/seenguard.js";

/** Most ids that a snapshot may list as unseen. */
const MAX_UNSEEN = 1_000;
const IMPRESSIONS = "each { id, at } with a text and Unix milliseconds";

/** What a list of unseen ids must be. */
export const UNSEEN = `unseen must be a list of at most ${MAX_UNSEEN} ids, ${IMPRESSIONS}`;
/** What a list in a report must be. */
export const REPORTED = `must be a list, ${IMPRESSIONS}`;

/** A copy of such a list, of which each part is read once; `undefined` for what is none. */
export function copyImpressions(list: unknown, most = Infinity): Impression[] | undefined {
  const values = Array.isArray(list) ? copyList<unknown>(list) : undefined;
  if (!values || values.length > most) return undefined;
  const copy = values.map(copyImpression);
  return copy.every((impression) => impression !== undefined) ? copy : undefined;
}

/** The same of what a snapshot may list as unseen. */
export function copyUnseen(list: unknown): Impression[] | undefined {
  return copyImpressions(list, MAX_UNSEEN);
}

function copyImpression(value: unknown): Impression | undefined {
  const { id, at } = (value ?? {}) as Partial<Impression>;
  const isRight = typeof id === "string" && typeof at === "number" && Number.isFinite(at) && at >= 0;
  return isRight ? { id, at } : undefined;
}
