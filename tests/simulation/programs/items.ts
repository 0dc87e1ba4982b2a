/** Unusual items and lists whose ids are known. */
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import type { ItemId } from "seenguard";
import type { Ids } from "./model.js";

/** Few ids, so that programs use each of them often. */
export const POOL: readonly ItemId[] = [
  ...["a", "b", "c", "d", "e", "", "__proto__", "constructor", "a\0b", "\0", "\u00e9", "\u{1f600}"],
  ...[7, "7", 7n, -0, "0", Number.MAX_SAFE_INTEGER, 2n ** 64n, -1n, "x".repeat(1_024), "y".repeat(1_024)],
];

/** An item and its ids. */
export interface KnownItem {
  readonly value: unknown;
  readonly ids: Ids;
  readonly raw: readonly ItemId[];
}

interface Description {
  readonly kind: string;
  readonly ids: readonly ItemId[];
}

/** Kinds of items that have the first id. */
const WITH_ID: Readonly<Record<string, (id: ItemId) => unknown>> = {
  "the id": (id) => id,
  "an object": (id) => ({ id }),
  "a frozen object": (id) => Object.freeze({ id }),
  "an object without a prototype": (id) => Object.assign(Object.create(null) as object, { id }),
  "an object that inherits it": (id) => Object.create({ id }) as object,
  "a getter": (id) => Object.defineProperty({}, "id", { get: () => id }),
  "a proxy": (id) => new Proxy({ id }, {}),
  "an object of another realm": (id) => Object.assign(runInNewContext("({})") as object, { id }),
  "a list with the property": (id) => Object.assign(["not an id"], { id }),
  "a date with the property": (id) => Object.assign(new Date(), { id }),
  "a boxed string with the property": (id) => Object.assign(Object("not an id") as object, { id }),
};

/** Kinds of items that have no usable id. */
const WITHOUT_ID: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  NaN: () => NaN,
  infinity: () => -Infinity,
  "a fraction": () => 1.5,
  "too large a number": () => 2 ** 53,
  true: () => true,
  "a symbol": () => Symbol("item"),
  "a function": () => Object.assign(() => {}, { id: "of a function" }),
  "an empty object": () => ({}),
  "an object with null": () => ({ id: null }),
  "an object in an object": () => ({ id: { id: "a" } }),
  "a boxed string": () => Object("a") as unknown,
  "an object with a boxed string": () => ({ id: Object("a") as unknown }),
  "an object with a symbol": () => ({ id: Symbol("id") }),
  "an object whose toString throws": () => ({ id: { toString: throws, valueOf: throws } }),
  "a getter that throws": () => Object.defineProperty({}, "id", { get: throws }),
  "a proxy that throws": () => new Proxy({}, { get: throws, has: throws, getPrototypeOf: throws, ownKeys: throws }),
  "a revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
};

function throws(): never {
  throw new Error("of an item");
}

/** Kinds of items that have all of the ids. */
const WITH_IDS: Readonly<Record<string, (ids: readonly ItemId[]) => unknown>> = {
  "a list of ids": (id) => ({ id }),
  "a frozen list of ids": (ids) => ({ id: Object.freeze([...ids]) }),
  "a list of ids with what is none": (ids) => ({ id: [undefined, NaN, ...ids, null, Symbol("id"), { id: "a" }] }),
  "a sparse list of ids": (ids) => ({
    id: Object.assign(new Array<ItemId>(ids.length + 9), Object.fromEntries(ids.entries())),
  }),
  "a list of ids that lies": (ids) => ({ id: Object.assign([...ids], { filter: throws, [Symbol.iterator]: throws }) }),
};

const build = ({ kind, ids }: Description): KnownItem => {
  const [first = "a"] = ids;
  const [one, none] = [WITH_ID[kind], WITHOUT_ID[kind]];
  if (one) return { value: one(first), ids: [String(first)], raw: [first] };
  if (none) return { value: none(), ids: [], raw: [] };
  return { value: WITH_IDS[kind]?.(ids), ids: ids.map(String), raw: ids };
};

export const poolId = fc.constantFrom(...POOL);

function description(...kinds: Readonly<Record<string, unknown>>[]): fc.Arbitrary<Description> {
  return fc.record({
    kind: fc.constantFrom(...kinds.flatMap((each) => Object.keys(each))),
    ids: fc.array(poolId, { minLength: 1, maxLength: 3 }),
  });
}

/** Descriptions of items with at most one id, and of any. */
export const singleItems = fc.array(description(WITH_ID, WITH_ID, WITHOUT_ID), { maxLength: 12 });
export const anyItems = fc.array(description(WITH_ID, WITHOUT_ID, WITH_IDS, WITH_IDS), { maxLength: 12 });

/** Ways to pass a list: each has exactly these elements, in their order. */
const SHAPES: Readonly<Record<string, (list: unknown[]) => unknown>> = {
  "an array": (list) => list,
  "a frozen array": (list) => Object.freeze(list),
  "a proxy": (list) => new Proxy(list, {}),
  "an array of another realm": (list) => Object.assign(runInNewContext("[]") as unknown[], list),
  "an array whose methods throw": (list) =>
    Object.assign(list, { map: throws, filter: throws, [Symbol.iterator]: throws }),
  "something like an array": (list) => Object.assign({ length: list.length }, list),
  "a generator": function* (list) {
    yield* list;
  },
};

/** A list in some shape, described: it is built again for each run. */
export interface ListDescription {
  readonly shape: string;
  readonly items: readonly Description[];
}

export function listOf(items: fc.Arbitrary<Description[]>): fc.Arbitrary<ListDescription> {
  return fc.record({ shape: fc.constantFrom(...Object.keys(SHAPES)), items });
}

export interface KnownList {
  /** As it is passed. */
  readonly list: never[];
  readonly values: readonly unknown[];
  readonly ids: readonly Ids[];
  readonly raw: readonly (readonly ItemId[])[];
}

export function buildList({ shape, items }: ListDescription): KnownList {
  const known = items.map(build);
  const values = known.map(({ value }) => value);
  return {
    list: SHAPES[shape]?.([...values]) as never[],
    values,
    ids: known.map(({ ids }) => ids),
    raw: known.map(({ raw }) => raw),
  };
}
