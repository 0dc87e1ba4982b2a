/** Ids with times, as devices report them and snapshots list them. */
import { copyList } from "./ids.js";
import type { Impression } from "../types/seenguard.js";

/** Most ids that a snapshot may list as unseen. */
const MAX_UNSEEN = 1_000;
export const IMPRESSIONS = "each { id, at } with a text and Unix milliseconds";

/** The requirement of a list of unseen ids. */
export const UNSEEN = `unseen must be a list of at most ${MAX_UNSEEN} ids, ${IMPRESSIONS}`;

/** A copy of such a list, with each part read once; `undefined` for an invalid one. */
export function copyImpressions(list: unknown, most = Infinity): Impression[] | undefined {
  const values = Array.isArray(list) ? copyList<unknown>(list) : undefined;
  if (!values || values.length > most) return undefined;
  const copy = values.map(copyImpression);
  return copy.every((impression) => impression !== undefined) ? copy : undefined;
}

/** The same for the unseen ids of a snapshot. */
export function copyUnseen(list: unknown): Impression[] | undefined {
  return copyImpressions(list, MAX_UNSEEN);
}

function copyImpression(value: unknown): Impression | undefined {
  const { id, at } = (value ?? {}) as Partial<Impression>;
  const isRight = typeof id === "string" && typeof at === "number" && Number.isFinite(at) && at >= 0;
  return isRight ? { id, at } : undefined;
}
