/** `pageOf`: a page of a ranked list, and where the next one begins. */
import { readGiven, refuse } from "../errors.js";
import { collectIds, copyList, ownId } from "../ids.js";
import { aFunction, anything, checkOptions, isFunction, REQUIRED, wholeNumber, type Rules } from "../options.js";
import type { IdOf, ItemId, Page, PageOptions, ShardChain } from "../types/server.js";
import { timeRule } from "./call-options.js";
import { fingerprint, markOf, readCursor, writeCursor, type Cursor } from "./cursor.js";

interface Candidate<T> {
  readonly item: T;
  readonly place: number;
}
interface Split<T> {
  readonly fresh: readonly Candidate<T>[];
  readonly seen: readonly Candidate<T>[];
}
type Checked<T> = PageOptions & { id?: IdOf<T> };

const rules = {
  size: wholeNumber(1, 10_000, REQUIRED),
  cursor: anything,
  held: anything,
  pending: anything,
  seen: ['"drop" or "last"', (value) => value === "drop" || value === "last", "drop"],
  now: timeRule,
  id: aFunction,
} satisfies Rules;

export function pageOf<T>(chain: ShardChain, ranked: readonly T[], options: PageOptions & { id?: IdOf<T> }): Page<T> {
  readGiven("bad-option", "what pageOf was given", () => {
    if (!isChain(chain)) refuse("pageOf takes a chain: is it awaited?");
    if (!isList(ranked)) refuse("pageOf takes a list of candidates: is it awaited?");
  });
  const checked = checkOptions("pageOf", options, rules) as object as Checked<T>;
  const { cursor, held = null, pending = null, id = ownId as IdOf<T>, now = Date.now() / 1000 } = checked;
  const candidates = copyList(ranked).map((item, place) => ({ item, place }));
  const split = chain.split(candidates, { id: ({ item }) => id(item), pending, now });
  const { page, next } = nextPage(candidates, split, readCursor(cursor), checked);
  return {
    items: page.map(({ item }) => item),
    next: next && writeCursor(next),
    seen: chain.snapshot({ now, held }),
  };
}

const isChain = (value: unknown) => isFunction((value as Partial<ShardChain> | null | undefined)?.snapshot);
const isList = (value: unknown): boolean => Array.isArray(value);

/** The fresh ones from the cursor on, and if wanted seen ones that no page before has given. */
function nextPage<T>(
  candidates: readonly Candidate<T>[],
  { fresh, seen }: Split<T>,
  cursor: Cursor | undefined,
  { size, seen: mode, id }: Checked<T>,
): { page: Candidate<T>[]; next: Cursor | null } {
  const idsOf = ({ item }: Candidate<T>): readonly ItemId[] => collectIds([item], id).ids;
  const marksOf = (candidate: Candidate<T>) => idsOf(candidate).map(markOf);
  const start = cursor ? placeAfter(cursor, candidates, idsOf) : 0;
  const left = fresh.filter(({ place }) => place >= start);
  // A first page has none before it; of a cursor that does not tell what was given, no seen ones follow.
  const given = mode === "drop" ? undefined : cursor ? cursor.given : [];
  const known = new Set(given);
  const repeats = given ? seen.filter((candidate) => !marksOf(candidate).some((mark) => known.has(mark))) : [];
  const page = [...left, ...repeats].slice(0, size);
  if (left.length + repeats.length <= size) return { page, next: null };
  const last = left.length > size ? page[size - 1] : candidates[candidates.length - 1];
  const [lastId] = last ? idsOf(last) : [];
  return {
    page,
    next: {
      place: last?.place ?? 0,
      id: lastId === undefined ? "" : fingerprint(lastId),
      ...(given && { given: [...given, ...page.flatMap(marksOf)] }),
    },
  };
}

/** Where the first candidate is that was not looked at. */
function placeAfter<T>(
  cursor: Cursor,
  candidates: readonly Candidate<T>[],
  idsOf: (candidate: Candidate<T>) => readonly ItemId[],
): number {
  const isLast = (place: number) => {
    const [id] = candidates[place] ? idsOf(candidates[place]) : [];
    return id !== undefined && fingerprint(id) === cursor.id;
  };
  const { length } = candidates;
  const place = Math.min(cursor.place, length);
  if (cursor.id === "") return place + 1;
  // It may stand a little further up or down by now: the nearest one of its id is taken.
  for (let distance = 0; distance <= length; distance++) {
    if (isLast(place - distance)) return place - distance + 1;
    if (isLast(place + distance)) return place + distance + 1;
  }
  // It is gone, and what stood behind it has moved up into its place.
  return place;
}
