/** Items with several ids, such as reposts with their originals, or a story of several publishers; and `split`. */
import type { IdOf, ItemId } from "seenguard";
import { describe, expect, test } from "vitest";
import { follow, idsOf, openGuard, recordInTurn, shippedSnapshot } from "../support/node.js";

/** An item is the list of its ids. */
const itself: IdOf<readonly (ItemId | null | undefined)[]> = (ids) => ids;

describe("filter of items with several ids", () => {
  test("i1: stops an item if any of its ids was seen, on this device or by the server", async () => {
    const { guard } = await openGuard();
    guard.record(["first", "7"]);
    guard.apply(await shippedSnapshot(["server"]));
    const { decisions } = follow(guard);
    const items = [["first", "x"], ["y", 7], ["z", "w", "server"], ["x", "y"], ["fresh"]];
    expect(guard.filter(items, itself)).toEqual([["x", "y"], ["fresh"]]);
    await Promise.resolve();
    expect(decisions[0]?.stopped).toMatchObject([
      { id: "first", why: { by: "pending" } },
      { id: "7", why: { by: "pending" } },
      { id: "server", why: { by: "server" } },
    ]);
  });

  test("i4: treats an item as a duplicate if it has any id of an earlier item of the result, and not otherwise", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const items = [["a", "b"], ["c", "b"], ["c"], ["seen", "d"], ["d"], ["e", "a"], ["f", "e"]];
    expect(guard.filter(items, itself)).toEqual([["a", "b"], ["c"], ["d"], ["f", "e"]]);
  });

  test("does so, too, where there is no engine", async () => {
    const { guard } = await openGuard();
    await guard.close();
    const long = "x".repeat(1_023);
    const items = [["a", "b"], ["c", "b"], ["c"], [], ["d", long], [long], ["e", `${long}y`]];
    expect(guard.filter(items, itself)).toEqual([["a", "b"], ["c"], [], ["d", long], ["e", `${long}y`]]);
  });

  test("ignores entries that are not ids, and returns an item without any", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const items = [[null, "seen"], [undefined, "a", null], [], [null, undefined], [2 ** 53, "seen"], [NaN]];
    expect(guard.filter(items as ItemId[][], itself)).toEqual([[undefined, "a", null], [], [null, undefined], [NaN]]);
    const broken = new Proxy(["seen"], {
      get() {
        throw new Error("not loaded yet");
      },
    });
    expect(guard.filter([broken, ["seen"]], itself)).toHaveLength(1);
  });

  test("accepts items with one id and with several, up to the limit of a call", async () => {
    const { guard, errors } = await openGuard();
    const count = 12_000;
    guard.record(idsOf("repost", 100));
    const idOf = (index: number) =>
      index % 3 === 0 ? [`item-${String(index)}`, `repost-${String(index / 3)}`] : index;
    const fresh = guard.filter(
      Array.from({ length: count }, (_, index) => index),
      idOf,
    );
    expect(fresh).toHaveLength(count - 100);
    expect(fresh.slice(0, 4)).toEqual([1, 2, 4, 5]);
    const doubled = guard.filter(fresh, (index) => ["same", index].slice(index % 2));
    expect(doubled).toHaveLength(1 + fresh.filter((index) => index % 2 === 1).length);
    expect(errors).toEqual([]);
  });
});

describe("split", () => {
  test("returns each item once: the fresh ones as filter does, the others ordered by when they were seen", async () => {
    const { guard } = await openGuard();
    guard.apply({
      shards: [
        ...(await shippedSnapshot(["newer", "both"])).shards,
        ...(await shippedSnapshot(["older", "both"])).shards,
      ],
    });
    recordInTurn(guard, ["first", "second", "third", "first"]);
    const list = ["third", "both", "a", "first", "older", "b", "second", "a", "newer", "third"].map((id) => ({ id }));
    const { fresh, seen } = guard.split(list);
    expect(fresh).toEqual(guard.filter(list));
    expect(fresh.map(({ id }) => id)).toEqual(["a", "b"]);
    expect(seen.map(({ id }) => id)).toEqual(["older", "both", "newer", "second", "third", "first"]);
    for (const item of [...fresh, ...seen]) expect(list).toContain(item);
    expect(guard.split(list)).toEqual({ fresh, seen });
  });

  test("i4: ranks an item by its latest seen id, and returns it once", async () => {
    const { guard } = await openGuard();
    recordInTurn(guard, ["first", "second", "third"]);
    const items = [["first", "third"], ["second", "y"], ["x"], ["third"], ["w", "first"], ["x", "second"], ["z"]];
    const split = guard.split(items, itself);
    expect(split).toEqual({
      fresh: [["x"], ["z"]],
      seen: [
        ["second", "y"],
        ["first", "third"],
      ],
    });
  });

  test("returns items without an id among the fresh ones, and accepts the same lists as filter", async () => {
    const { guard } = await openGuard();
    guard.record(["a", 7]);
    const split = (items: unknown) => guard.split(items as { id: string }[]);
    const without = {};
    expect(split([{ id: "a" }, without, { id: "b" }, null])).toEqual({
      fresh: [without, { id: "b" }, null],
      seen: [{ id: "a" }],
    });
    expect(guard.split([7, "7", "8"])).toEqual({ fresh: ["8"], seen: [7] });
    expect(split(new Set(["a", "b"]))).toEqual({ fresh: ["b"], seen: ["a"] });
    for (const none of [null, undefined, 7, {}, []]) expect(split(none)).toEqual({ fresh: [], seen: [] });
  });

  test("returns everything as fresh without an engine", async () => {
    const { guard } = await openGuard();
    guard.record("a");
    await guard.close();
    expect(guard.split(["a", "b", "a"])).toEqual({ fresh: ["a", "b"], seen: [] });
    expect(
      guard.split(
        [
          ["a", "b"],
          ["c", "b"],
        ],
        itself,
      ),
    ).toEqual({ fresh: [["a", "b"]], seen: [] });
  });
});
