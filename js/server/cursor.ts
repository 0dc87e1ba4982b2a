/**
 * Where a page ended, as a short text that is safe in a URL.
 *
 * It names the last candidate that was looked at by its place and its id. Where seen items fill up pages, it also has
 * what the pages so far have given: by then their impressions may have arrived, and nothing else tells them from what
 * was seen before.
 */
import type { ItemId } from "../types/server.js";

export interface Cursor {
  readonly place: number;
  /** The fingerprint of the candidate's first id; "" if it has none. */
  readonly id: string;
  /** The marks of all ids of what was given; absent if they are too many, or if seen items are left out. */
  readonly given?: readonly string[];
}

/** Of more ids, a cursor would become too long for a URL. */
const MAX_GIVEN = 500;
const MARK_LENGTH = 4;
const CURSOR = /^([0-9a-z]{1,8})\.([0-9a-z]{0,7})(?:\.((?:[0-9a-z]{4})*))?$/;

/** Reads a cursor; `undefined` for what is none. */
export function readCursor(text: unknown): Cursor | undefined {
  const parts = typeof text === "string" ? CURSOR.exec(text) : null;
  if (!parts) return undefined;
  const [, place = "", id = "", marks] = parts;
  const given = marks?.match(/.{4}/g) ?? [];
  return { place: parseInt(place, 36), id, ...(marks !== undefined && { given }) };
}

export function writeCursor({ place, id, given }: Cursor): string {
  const marks = given && given.length <= MAX_GIVEN ? `.${given.join("")}` : "";
  return `${place.toString(36)}.${id}${marks}`;
}

/** Names an id in 32 bits (FNV-1a). */
export function fingerprint(id: ItemId): string {
  return hash(id).toString(36);
}

/** Names an id in 20 bits. */
export function markOf(id: ItemId): string {
  return (hash(id) % 36 ** MARK_LENGTH).toString(36).padStart(MARK_LENGTH, "0");
}

function hash(id: ItemId): number {
  let state = 0x811c9dc5;
  for (const unit of new TextEncoder().encode(String(id))) state = Math.imul(state ^ unit, 0x01000193);
  return state >>> 0;
}
