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
  /** The indices of these items in the list; absent if every item has an id. */
  readonly indices?: readonly number[] | undefined;
  /** The first error that the app's function has thrown; an item for which it throws has no id. */
  readonly thrown?: { readonly cause: unknown } | undefined;
}

/** Of a list with a larger `length` the existing elements are read: a proxy may return any length. */
const MAX_LENGTH = 1_000_000;
/** Longest id, UTF-16 units. */
const MAX_ID_UNITS = 1_024;
/** Most ids, and most UTF-16 units of them, of one call into the engine. */
const MAX_IDS = 20_000;
const MAX_UNITS = 1 << 20;
/** Whether a string is well-formed: some JavaScript engines lack the method. */
export const isWellFormed: (value: string) => boolean =
  "isWellFormed" in String.prototype
    ? (value) => (value as unknown as { isWellFormed(): boolean }).isWellFormed()
    : (value) => !/[\uD800-\uDFFF]/u.test(value);

/** Whether a value can be an id. A number that is not a safe integer cannot: `JSON.parse` has already rounded it. */
export function isId(id: unknown): id is ItemId {
  return typeof id === "string" || typeof id === "bigint" || Number.isSafeInteger(id);
}

/** Whether a device accepts a value as an id. All lone surrogates would be one id, since UTF-8 cannot encode them. */
export function isUsable(id: unknown): id is ItemId {
  if (typeof id !== "string") return isId(id);
  return id.length <= MAX_ID_UNITS && isWellFormed(id);
}

/** How many ids, from the end of a list, fit into one call of the engine. */
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

/**
 * The ids of a list's items: what `idOf` returns if it is a function, else the items or their `id`. `isValid` selects
 * the valid ones. Never throws.
 */
export function collectIds<T>(items: readonly T[], idOf?: IdOf<T>, isValid = isUsable): CollectedIds {
  if (typeof idOf === "function") return collectEach(items, idOf, isValid);
  const ids = collectStrings(items, isValid);
  return ids ? { ids } : collectEach(items, defaultId, isValid);
}

/** A fast path for lists in which every id is a string, as in most. */
function collectStrings(items: readonly unknown[], isValid: typeof isUsable): string[] | undefined {
  try {
    const ids: string[] = new Array<string>(items.length);
    for (let index = 0; index < ids.length; index++) {
      const item = items[index];
      const id = typeof item === "string" ? item : defaultId(item);
      if (typeof id !== "string" || !isValid(id)) return undefined;
      ids[index] = id;
    }
    return ids;
  } catch {
    // An item cannot be read; the slow path collects the other ids.
    return undefined;
  }
}

function collectEach<T>(items: readonly T[], idOf: (item: T) => unknown, isValid: typeof isUsable): CollectedIds {
  const ids: ItemId[] = [];
  let ends: number[] | undefined;
  let indices: number[] | undefined;
  let thrown: CollectedIds["thrown"];
  for (let index = 0; index < items.length; index++) {
    const start = ids.length;
    try {
      const id = idOf(items[index] as T);
      if (isValid(id)) ids.push(id);
      else if (Array.isArray(id)) for (const each of copyList(id)) if (isValid(each)) ids.push(each);
    } catch (cause) {
      // The app's callback or a getter of the item has thrown: the item has no id.
      if (idOf !== defaultId) thrown ??= { cause };
    }
    if (ids.length > start) {
      if (ids.length > start + 1) ends ??= Array.from({ length: start }, (_, item) => item + 1);
      ends?.push(ids.length);
      indices?.push(index);
    } else {
      indices ??= Array.from({ length: index }, (_, before) => before);
    }
  }
  return { ids, ends, indices, thrown };
}

/** The number of items. */
export function countItems({ ids, ends }: ItemIdList): number {
  return (ends ?? ids).length;
}

/** The indices of all items. */
export function indicesOf(list: ItemIdList): number[] {
  return [...Array(countItems(list)).keys()];
}

/** The ids of one item. */
export function idsOfItem({ ids, ends }: ItemIdList, item: number): readonly ItemId[] {
  return ends ? ids.slice(ends[item - 1] ?? 0, ends[item]) : ids.slice(item, item + 1);
}

/**
 * The usable ids in an argument of `record`: an id, an object with an `id`, or an iterable of these. Never throws.
 * `onOther` is called for objects without a usable `id`.
 */
export function collectRecorded(given: unknown, isValid = isUsable, onOther = (_value: unknown): void => {}): ItemId[] {
  const usable: ItemId[] = [];
  const add = (value: unknown): void => {
    const id = attempt(() => defaultId(value));
    if (isValid(id)) usable.push(id);
    else if (typeof value === "object" && value !== null) onOther(value);
  };
  try {
    if (typeof given !== "object" || given === null || !(Symbol.iterator in given)) add(given);
    else for (const value of Array.isArray(given) ? copyList<unknown>(given) : (given as Iterable<unknown>)) add(value);
  } catch {
    // The iterable has thrown: the ids before that are used.
  }
  return usable;
}

/** A copy of a list, read once. Never throws; a hole or an unreadable element is `undefined`. */
export function copyList<T>(items: readonly T[]): T[] {
  try {
    if (!Array.isArray(items) && Symbol.iterator in items) return Array.from(items as Iterable<T>);
    const { length } = items;
    if (Number.isInteger(length) && length >= 0 && length <= MAX_LENGTH) return copyItems<T>(items, length);
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
  /** As in `CollectedIds`. */
  indices: CollectedIds["indices"],
  /** Indices of fresh items among those with an id. */
  fresh: ArrayLike<number> & Iterable<number>,
): T[] {
  if (!indices) {
    const passed = new Array<T>(fresh.length);
    for (let next = 0; next < passed.length; next++) passed[next] = list[fresh[next] ?? 0] as T;
    return passed;
  }
  const passes = new Uint8Array(list.length).fill(1);
  for (const index of indices) passes[index] = 0;
  for (const item of fresh) passes[indices[item] ?? 0] = 1;
  return list.filter((_, index) => passes[index] === 1);
}

/** Splits a list: the fresh items as from `freshItems`, and the others in the order of `seen`. */
export function splitItems<T>(
  list: readonly T[],
  indices: CollectedIds["indices"],
  fresh: ArrayLike<number> & Iterable<number>,
  seen: Iterable<number>,
): { fresh: T[]; seen: T[] } {
  return {
    fresh: freshItems(list, indices, fresh),
    seen: Array.from(seen, (item) => list[indices?.[item] ?? item] as T),
  };
}

/**
 * Splits items by their ids. `seen`: the indices of the seen ids, those seen longest ago first. An item is seen if any
 * of its ids is, and has the rank of the latest of them. An item that shares an id with an earlier item of the result
 * is in neither list.
 */
export function splitByIds(list: ItemIdList, seen: ArrayLike<number>): Split {
  const order = new Map(Array.from(seen, (index, rank) => [String(list.ids[index]), rank]));
  const [freshIds, seenIds] = [new Set<string>(), new Set<string>()];
  const fresh: number[] = [];
  const ranked: { item: number; rank: number }[] = [];
  for (let item = 0; item < countItems(list); item++) {
    const ids = idsOfItem(list, item).map(String);
    const rank = Math.max(...ids.map((id) => order.get(id) ?? -1));
    const isSeen = rank >= 0;
    if (ids.some((id) => freshIds.has(id) || (isSeen && seenIds.has(id)))) continue;
    for (const id of ids) (isSeen ? seenIds : freshIds).add(id);
    if (isSeen) ranked.push({ item, rank });
    else fresh.push(item);
  }
  return { fresh, seen: ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item) };
}
