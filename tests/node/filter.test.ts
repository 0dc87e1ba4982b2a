/** What `filter` returns, whatever it is given. */
import type { IdOf, ItemId, SeenGuard } from "seenguard";
import { describe, expect, test } from "vitest";
import { ENGINE, idsOf, openGuard, Random, shippedSnapshot } from "./support.js";

/** Calls filter with what no type checker would let pass. */
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

  test("returns a list of its own and leaves the one that it got as it was", async () => {
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

  test("i5: keeps items without a usable id where they were, each of them", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const without = [null, undefined, {}, { id: null }, { id: 1.5 }, { id: 2 ** 60 }, true, throwing, { id: {} }];
    const items = without.flatMap((item, index) => [item, { id: `fresh-${String(index)}` }, { id: "seen" }]);
    const kept = items.filter((_, index) => index % 3 !== 2);
    const fresh = filterAnything(guard, items);
    expect(fresh).toHaveLength(kept.length);
    fresh.forEach((item, index) => expect(item).toBe(kept[index]));
  });

  test("takes the id from a callback, and keeps an item for which the callback throws or has none", async () => {
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
    const asked: string[] = [];
    guard.filter(["a", "b", "a"], (item) => {
      asked.push(item);
      return item;
    });
    expect(asked).toEqual(["a", "b", "a"]);
  });

  test("lets the callback itself use the guard", async () => {
    const { guard } = await openGuard();
    const fresh = guard.filter(["a", "b", "c"], (item) => {
      guard.record("b");
      return guard.filter([item])[0] ?? `stopped-${item}`;
    });
    expect(fresh).toEqual(["a", "b", "c"]);
    expect(guard.filter(["a", "b", "c"])).toEqual(["a", "c"]);
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

  test("takes 20,000 items at once, with and without ids among them, and then one again", async () => {
    const { guard, errors } = await openGuard();
    const many = idsOf("item", 20_000);
    guard.record(many.slice(1000, 2000));
    expect(guard.filter(many)).toEqual([...many.slice(0, 1000), ...many.slice(2000)]);
    const mixed = many.map((id, index) => (index % 2 === 0 ? { id } : { index }));
    expect(guard.filter(mixed as { id: string }[])).toHaveLength(20_000 - 500);
    expect(guard.filter(["item-1000", "item-1"])).toEqual(["item-1"]);
    expect(errors).toEqual([]);
  });

  test("takes numbers, bigints and texts side by side", async () => {
    const { guard } = await openGuard();
    guard.record([1n, "2"]);
    const items: (ItemId | { id: ItemId })[] = [1, { id: "1" }, 2n, { id: 3 }, "4"];
    expect(guard.filter(items)).toEqual([{ id: 3 }, "4"]);
  });

  test("keeps the holes of a sparse list as items without an id", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const sparse: (string | undefined)[] = [];
    sparse[1] = "a";
    sparse[3] = "seen";
    sparse[5] = "b";
    expect(filterAnything(guard, sparse)).toEqual([undefined, "a", undefined, undefined, "b"]);
    expect(filterAnything(guard.feed(), sparse)).toEqual([undefined, "a", undefined, undefined, "b"]);
  });

  test("takes any iterable list, and nothing from other values", async () => {
    const { guard } = await openGuard();
    guard.record("a");
    expect(filterAnything(guard, new Set(["a", "b"]))).toEqual(["b"]);
    for (const none of [null, undefined, 7, true, {}, () => {}, Symbol("list"), NaN]) {
      expect(filterAnything(guard, none)).toEqual([]);
    }
  });

  test("does not throw when reading the list does", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const lazy: unknown[] = ["a", "b", "seen"];
    Object.defineProperty(lazy, 1, {
      get() {
        throw new Error("not loaded yet");
      },
    });
    expect(filterAnything(guard, lazy)).toEqual(["a", undefined]);
    expect(filterAnything(guard.feed(), lazy)).toEqual(["a", undefined]);
    const broken = new Proxy(["a"], {
      get() {
        throw new Error("no longer there");
      },
    });
    expect(filterAnything(guard, broken)).toEqual([]);
    class Odd extends Array<unknown> {
      static override get [Symbol.species](): ArrayConstructor {
        throw new Error("no lists of this kind can be made");
      }
    }
    expect(filterAnything(guard, Odd.from(["a", {}, "seen"]))).toEqual(["a", {}]);
  });

  test("treats an id that is no function as none", async () => {
    const { guard } = await openGuard();
    guard.record("a");
    for (const none of [null, "id", 7, {}])
      expect(filterAnything(guard, [{ id: "a" }, { id: "b" }], none)).toEqual([{ id: "b" }]);
  });
});

describe("filter over odd values from a seeded source", () => {
  const oddities: readonly (() => unknown)[] = [
    () => undefined,
    () => null,
    () => "",
    () => "seen",
    () => "\0",
    () => "a\0b",
    () => "\udead",
    () => 1,
    () => -0,
    () => NaN,
    () => 1e300,
    () => 7n,
    () => true,
    () => Symbol("odd"),
    () => () => "odd",
    () => [],
    () => ["seen"],
    () => new Map(),
    () => Object.create(null) as unknown,
    () => new Proxy({}, { get: () => "seen" }),
    () => throwing,
    () => ({ id: throwing }),
    () => ({ id: "seen" }),
    () => ({ id: 2 ** 53 }),
    () => ({ id: { toString: () => "seen" } }),
    () => new String("seen"),
    () => new Date(NaN),
    () => Proxy.revocable({}, {}).proxy,
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
  ];
  const callbacks: readonly unknown[] = [
    undefined,
    (item: { id?: unknown }) => item.id,
    (item: unknown) => item,
    () => "same for all",
    () => {
      throw new Error("no");
    },
    () => throwing,
    () => Symbol("no"),
  ];

  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`never throws, never stops a fresh item, and returns the same result twice: seed ${String(seed)}`, async () => {
      const random = new Random(seed);
      const { guard, errors } = await openGuard();
      guard.record("seen");
      for (let round = 0; round < 60; round++) {
        const items = Array.from({ length: random.below(40) }, () => random.pick(oddities)());
        const callback = random.pick(callbacks);
        const fresh = filterAnything(guard, items, callback);
        // Some of these cannot even be compared by what they hold.
        const isFresh = (again: unknown[]) =>
          again.length === fresh.length && again.every((item, at) => Object.is(item, fresh[at]));
        expect(isFresh(filterAnything(guard, items, callback))).toBe(true);
        expect(isFresh(filterAnything(guard.feed(), items, callback))).toBe(true);
        if (callback === undefined) expect(fresh.includes("seen")).toBe(false);
        // What comes back is part of what went in, in its order.
        let at = 0;
        for (const item of fresh) {
          while (at < items.length && !Object.is(items[at], item)) at++;
          expect(at).toBeLessThan(items.length);
          at++;
        }
        guard.record(items as ItemId[]);
        guard.explain(random.pick(oddities)() as ItemId);
        guard.apply(random.pick(oddities)() as null);
      }
      expect(guard.stats().engine).toBe(ENGINE);
      expect(errors.filter(({ code }) => code === "engine")).toEqual([]);
    });
  }
});
