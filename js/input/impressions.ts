/** Checks lists of ids with times, as in reports and snapshots. */
import { copyList } from "./ids.js";
import type { Impression } from "../types/seenguard.js";

/** Most ids that a snapshot may list as unseen. */
const MAX_UNSEEN = 1_000;
export const IMPRESSIONS = "each { id, at } with a string and Unix milliseconds";

/** The requirement of a list of unseen ids. */
export const UNSEEN = `unseen must be a list of at most ${MAX_UNSEEN} ids, ${IMPRESSIONS}`;

/** A copy of a list of impressions, of which each part is read once; `undefined` for an invalid one. */
export function copyImpressions(list: unknown, most = Infinity): Impression[] | undefined {
  const values = Array.isArray(list) ? copyList<unknown>(list) : undefined;
  if (!values || values.length > most) return undefined;
  const copy = values.map(copyImpression);
  return copy.every((impression) => impression !== undefined) ? copy : undefined;
}

/** A copy of a snapshot's list of unseen ids; `undefined` for an invalid one. */
export function copyUnseen(list: unknown): Impression[] | undefined {
  return copyImpressions(list, MAX_UNSEEN);
}

function copyImpression(value: unknown): Impression | undefined {
  const { id, at } = (value ?? {}) as Partial<Impression>;
  const isValid = typeof id === "string" && typeof at === "number" && Number.isFinite(at) && at >= 0;
  return isValid ? { id, at } : undefined;
}
