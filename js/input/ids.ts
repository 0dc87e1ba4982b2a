/** Maps items to ids, and fresh ids back to their items. */
import { attempt } from "../platform/host.js";
import type { Split } from "../engine/engine-guard.js";
import type { IdOf, ItemId } from "../types/seenguard.js";

/** The ids of several items: those of one item are adjacent, its main id first. */
export interface ItemIdList {
  readonly ids: readonly ItemId[];
  /** Index after each item's last id; absent if every item has one id. */
  readonly ends?: readonly number[] | undefined;
}

/** The ids of those items of a list that have any. */
export interface CollectedIds extends ItemIdList {
  /** The positions of these items in the list; absent if every item has an id. */
  readonly places?: readonly number[] | undefined;
  /** The error that the app's function has thrown for an item, which therefore has no id. */
  readonly thrown?: { readonly cause: unknown } | undefined;
}

/** A list with a larger `length` is read by its elements: a proxy may return any length. */
const LONGEST_LIST = 1_000_000;
/** Longest id, UTF-16 units. */
const MAX_ID_UNITS = 1_024;
/** Most ids, and most UTF-16 units of them, of one call into the engine. */
const MAX_IDS = 20_000;
const MAX_UNITS = 1 << 20;
/** Whether a text is well-formed: some JavaScript engines lack the method. */
export const isWellFormed: (text: string) => boolean =
  "isWellFormed" in String.prototype
    ? (text) => (text as unknown as { isWellFormed(): boolean }).isWellFormed()
    : (text) => !/[\uD800-\uDFFF]/u.test(text);

/** Whether a value can be an id. A number that is not a safe integer cannot: `JSON.parse` has already rounded it. */
export function isId(id: unknown): id is ItemId {
  return typeof id === "string" || typeof id === "bigint" || Number.isSafeInteger(id);
}

/** The same on a device. All lone surrogates would be one id, since UTF-8 cannot encode them. */
export function isUsable(id: unknown): id is ItemId {
  if (typeof id !== "string") return isId(id);
  return id.length <= MAX_ID_UNITS && isWellFormed(id);
}

/** How many ids at the end of a list one call into the engine takes. */
export function countLatest(ids: readonly ItemId[]): number {
  if (ids.length <= MAX_UNITS / MAX_ID_UNITS) return ids.length;
  let units = 0;
  let count = 0;
  for (; count < Math.min(ids.length, MAX_IDS); count++) {
    units += String(ids[ids.length - 1 - count]).length;
    if (units > MAX_UNITS) break;
  }
  return count;
}

/** The id of an item that is one, or has a property `id`. */
export function defaultId(item: unknown): unknown {
  // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- TypeScript knows no `id` of an object
  return typeof item === "object" ? (item as { id?: unknown } | null)?.id : item;
}

/** The ids of a list's items: by `idOf` if it is a function, else the items or their `id`. Never throws. */
export function collectIds<T>(items: readonly T[], idOf?: IdOf<T>, isRight = isUsable): CollectedIds {
  if (typeof idOf === "function") return collectEach(items, idOf, isRight);
  const texts = collectTexts(items, isRight);
  return texts ? { ids: texts } : collectEach(items, defaultId, isRight);
}

/** A fast path for lists in which every id is a text, as in most. */
function collectTexts(items: readonly unknown[], isRight: typeof isUsable): string[] | undefined {
  try {
    const texts: string[] = new Array<string>(items.length);
    for (let index = 0; index < texts.length; index++) {
      const item = items[index];
      const id = typeof item === "string" ? item : defaultId(item);
      if (typeof id !== "string" || !isRight(id)) return undefined;
      texts[index] = id;
    }
    return texts;
  } catch {
    // An item cannot be read; the slow path collects the other ids.
    return undefined;
  }
}

function collectEach<T>(items: readonly T[], idOf: (item: T) => unknown, isRight: typeof isUsable): CollectedIds {
  const ids: ItemId[] = [];
  let ends: number[] | undefined;
  let places: number[] | undefined;
  let thrown: CollectedIds["thrown"];
  for (let index = 0; index < items.length; index++) {
    const start = ids.length;
    try {
      const id = idOf(items[index] as T);
      if (isRight(id)) ids.push(id);
      else if (Array.isArray(id)) for (const each of copyList(id)) if (isRight(each)) ids.push(each);
    } catch (cause) {
      // The app's callback or a getter of the item has thrown: the item has no id.
      if (idOf !== defaultId) thrown ??= { cause };
    }
    if (ids.length > start) {
      if (ids.length > start + 1) ends ??= Array.from({ length: start }, (_, item) => item + 1);
      ends?.push(ids.length);
      places?.push(index);
    } else {
      places ??= Array.from({ length: index }, (_, place) => place);
    }
  }
  return { ids, ends, places, thrown };
}

/** How many items these are. */
export function countItems({ ids, ends }: ItemIdList): number {
  return (ends ?? ids).length;
}

/** The indices of all of them. */
export function indicesOf(list: ItemIdList): number[] {
  return [...Array(countItems(list)).keys()];
}

/** The ids of one item. */
export function idsOfItem({ ids, ends }: ItemIdList, item: number): readonly ItemId[] {
  return ends ? ids.slice(ends[item - 1] ?? 0, ends[item]) : ids.slice(item, item + 1);
}

/**
 * The usable ids of what `record` takes: an id or an object with an `id`, or several. Never throws. `onOther` is called
 * for objects without one.
 */
export function collectRecorded(given: unknown, isRight = isUsable, onOther = (_value: unknown): void => {}): ItemId[] {
  const usable: ItemId[] = [];
  const take = (value: unknown): void => {
    const id = attempt(() => defaultId(value));
    if (isRight(id)) usable.push(id);
    else if (typeof value === "object" && value !== null) onOther(value);
  };
  try {
    if (typeof given !== "object" || given === null || !(Symbol.iterator in given)) take(given);
    else
      for (const value of Array.isArray(given) ? copyList<unknown>(given) : (given as Iterable<unknown>)) take(value);
  } catch {
    // The iterable has thrown: the ids before the error count.
  }
  return usable;
}

/** A copy of a list, read once. Never throws; a hole or an unreadable element is `undefined`. */
export function copyList<T>(items: readonly T[]): T[] {
  try {
    if (!Array.isArray(items) && Symbol.iterator in items) return Array.from(items as Iterable<T>);
    const { length } = items;
    if (Number.isInteger(length) && length >= 0 && length <= LONGEST_LIST) return copyItems<T>(items, length);
  } catch {
    // Reading a proxy's length may throw, as may any access to a revoked one.
  }
  // The elements of an array with a wrong length.
  return attempt(() => (Array.isArray(items) ? (Object.values(items) as T[]) : [])) ?? [];
}

function copyItems<T>(items: readonly T[], length: number): T[] {
  const copy = new Array<T>(length);
  for (let index = 0; index < length; index++) {
    try {
      copy[index] = items[index] as T;
    } catch {
      copy[index] = undefined as T;
    }
  }
  return copy;
}

/** The fresh items of a list and those without an id, in their order. */
export function freshItems<T>(
  list: readonly T[],
  /** The positions of the items with an id; absent if every item has one. */
  places: CollectedIds["places"],
  /** Which of these are fresh. */
  fresh: ArrayLike<number> & Iterable<number>,
): T[] {
  if (!places) {
    const kept = new Array<T>(fresh.length);
    for (let place = 0; place < kept.length; place++) kept[place] = list[fresh[place] ?? 0] as T;
    return kept;
  }
  const passes = new Uint8Array(list.length).fill(1);
  for (const place of places) passes[place] = 0;
  for (const index of fresh) passes[places[index] ?? 0] = 1;
  return list.filter((_, index) => passes[index] === 1);
}

/** Splits a list: the fresh items as from `freshItems`, and the others in the order of `seen`. */
export function splitItems<T>(
  list: readonly T[],
  places: CollectedIds["places"],
  fresh: ArrayLike<number> & Iterable<number>,
  seen: Iterable<number>,
): { fresh: T[]; seen: T[] } {
  return {
    fresh: freshItems(list, places, fresh),
    seen: Array.from(seen, (index) => list[places?.[index] ?? index] as T),
  };
}

/**
 * Splits items by their split ids: an item is seen if any of its ids is, at the latest of their times. An item with an
 * id of an earlier kept one is in neither list.
 */
export function splitByIds(list: ItemIdList, seen: ArrayLike<number>): Split {
  const order = new Map(Array.from(seen, (index, place) => [String(list.ids[index]), place]));
  const [keptFresh, keptSeen] = [new Set<string>(), new Set<string>()];
  const fresh: number[] = [];
  const late: { item: number; place: number }[] = [];
  for (let item = 0; item < countItems(list); item++) {
    const ids = idsOfItem(list, item).map(String);
    const place = Math.max(...ids.map((id) => order.get(id) ?? -1));
    const isSeen = place >= 0;
    if (ids.some((id) => keptFresh.has(id) || (isSeen && keptSeen.has(id)))) continue;
    for (const id of ids) (isSeen ? keptSeen : keptFresh).add(id);
    if (isSeen) late.push({ item, place });
    else fresh.push(item);
  }
  return { fresh, seen: late.sort((a, b) => a.place - b.place).map(({ item }) => item) };
}
