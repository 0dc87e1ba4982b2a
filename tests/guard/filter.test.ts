/** The result of `filter`, for any argument. */
import type { IdOf, ItemId, SeenGuard } from "seenguard";
import { describe, expect, test } from "vitest";
import { idsOf, openGuard, shippedSnapshot } from "../support/node.js";

/** Calls filter with arguments that the type checker would refuse. */
function filterAnything(guard: Pick<SeenGuard, "filter">, items: unknown, id?: unknown): unknown[] {
  return guard.filter(items as unknown[], id as IdOf<unknown>);
}

const throwing = {
  get id(): string {
    throw new Error("this item has no id to show");
  },
};

describe("filter", () => {
  test("i4: returns the same objects in the same order, frozen or not", async () => {
    const { guard } = await openGuard();
    guard.record(["b", "d"]);
    const items = ["a", "b", "c", "d", "e"].map((id, index) => Object.freeze({ id, index }));
    const fresh = guard.filter(Object.freeze(items));
    expect(fresh.map(({ id }) => id)).toEqual(["a", "c", "e"]);
    for (const item of fresh) expect(item).toBe(items[item.index]);
  });

  test("returns a new list and leaves the given one unchanged", async () => {
    const { guard } = await openGuard();
    const items = ["a", "b"];
    const fresh = guard.filter(items);
    expect(fresh).not.toBe(items);
    fresh.push("c");
    expect(items).toEqual(["a", "b"]);
    expect(guard.filter([])).toEqual([]);
  });

  test("i4: lets the first of several items of one id pass", async () => {
    const { guard } = await openGuard();
    const [first, second, other, third] = [{ id: "a" }, { id: "a" }, { id: "b" }, { id: "a" }];
    const fresh = guard.filter([first, second, other, third]);
    expect(fresh[0]).toBe(first);
    expect(fresh[1]).toBe(other);
    expect(fresh).toHaveLength(2);
  });

  test("i5: returns every item without a usable id, at its position", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const without = [null, undefined, {}, { id: null }, { id: 1.5 }, { id: 2 ** 60 }, true, throwing, { id: {} }];
    const items = without.flatMap((item, index) => [item, { id: `fresh-${String(index)}` }, { id: "seen" }]);
    const expected = items.filter((_, index) => index % 3 !== 2);
    const fresh = filterAnything(guard, items);
    expect(fresh).toHaveLength(expected.length);
    fresh.forEach((item, index) => expect(item).toBe(expected[index]));
  });

  test("gets the ids from a callback, and returns items for which the callback throws or has none", async () => {
    const { guard } = await openGuard();
    guard.record(["a", 7]);
    const items = [{ key: "a" }, { key: "b" }, { key: 7 }, { key: null }, { other: 1 }];
    const idOf = (item: { key?: ItemId | null }) => {
      if (!("key" in item)) throw new TypeError("this item has no key");
      return item.key;
    };
    expect(guard.filter(items, idOf)).toEqual([{ key: "b" }, { key: null }, { other: 1 }]);
  });

  test("passes each item to the callback once, and in order", async () => {
    const { guard } = await openGuard();
    const passed: string[] = [];
    guard.filter(["a", "b", "a"], (item) => {
      passed.push(item);
      return item;
    });
    expect(passed).toEqual(["a", "b", "a"]);
  });

  test("i4: returns the same result for the same list, regardless of earlier calls", async () => {
    const { guard } = await openGuard();
    guard.apply(await shippedSnapshot(idsOf("server", 500)));
    guard.record(idsOf("here", 500));
    const items = [...idsOf("server", 600), ...idsOf("here", 600), ...idsOf("server", 10, 590)];
    const once = guard.filter(items);
    const pending = guard.pending();
    for (let again = 0; again < 3; again++) expect(guard.filter(items)).toEqual(once);
    expect(once.length).toBeGreaterThan(190);
    expect(guard.pending()).toEqual(pending);
  });

  test("returns the holes of a sparse list like items without an id", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const sparse: (string | undefined)[] = [];
    sparse[1] = "a";
    sparse[3] = "seen";
    sparse[5] = "b";
    expect(filterAnything(guard, sparse)).toEqual([undefined, "a", undefined, undefined, "b"]);
    expect(filterAnything(guard.feed(), sparse)).toEqual([undefined, "a", undefined, undefined, "b"]);
  });

  test("accepts any iterable list, and returns nothing for other values", async () => {
    const { guard } = await openGuard();
    guard.record("a");
    expect(filterAnything(guard, new Set(["a", "b"]))).toEqual(["b"]);
    for (const none of [null, undefined, 7, true, {}, () => {}, Symbol("list"), NaN]) {
      expect(filterAnything(guard, none)).toEqual([]);
    }
  });
});
