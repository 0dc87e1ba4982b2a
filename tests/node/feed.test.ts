/** A feed decides each id once. */
import type { IdOf } from "seenguard";
import { describe, expect, test } from "vitest";
import { idsOf, openGuard, shippedSnapshot } from "./support.js";

const itemsOf = (...ids: string[]) => ids.map((id) => ({ id }));

describe("a feed's filter", () => {
  test("keeps what was fresh when it arrived, though it has been seen since, as often as the list is rendered", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const feed = guard.feed();
    const list = itemsOf("a", "seen", "b");
    const first = feed.filter(list);
    expect(first).toEqual(itemsOf("a", "b"));
    guard.record(["a", "b"]);
    guard.apply(await shippedSnapshot(["a", "b", "seen"]));
    for (let again = 0; again < 3; again++) {
      const rendered = feed.filter(list);
      expect(rendered).toEqual(first);
      rendered.forEach((item, index) => expect(item).toBe(first[index]));
    }
    expect(feed.filter([...list, ...itemsOf("c", "a")])).toEqual(itemsOf("a", "b", "c"));
  });

  test("keeps what was stopped when it arrived stopped, though nothing stops it any more", async () => {
    const { guard } = await openGuard();
    guard.apply(await shippedSnapshot(["a"]));
    const feed = guard.feed();
    expect(feed.filter(["a", "b"])).toEqual(["b"]);
    guard.apply({ shards: [] });
    expect(guard.filter(["a", "b"])).toEqual(["a", "b"]);
    expect(feed.filter(["a", "b"])).toEqual(["b"]);
    expect(guard.feed().filter(["a", "b"])).toEqual(["a", "b"]);
  });

  test("decides an id once, in the guard's counters too", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    for (let again = 0; again < 5; again++) feed.filter(["a", "b", 7, "7"]);
    expect(guard.stats().filtered).toMatchObject({ passed: 3 });
  });

  test("keeps items without an id, each time, and counts them", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    const list = [{ id: "a" }, {}, { id: "a" }, {}] as { id: string }[];
    expect(feed.filter(list)).toEqual([{ id: "a" }, {}, {}]);
    expect(guard.stats().filtered.withoutId).toBe(2);
  });

  test("takes the id from a callback", async () => {
    const { guard } = await openGuard();
    guard.record(2);
    const idOf: IdOf<{ key: number }> = ({ key }) => key;
    expect(guard.feed().filter([{ key: 1 }, { key: 2 }, { key: 1 }], idOf)).toEqual([{ key: 1 }]);
  });

  test("is independent of other feeds of the guard", async () => {
    const { guard } = await openGuard();
    const [home, search] = [guard.feed(), guard.feed()];
    home.filter(["a"]);
    guard.record("a");
    expect(search.filter(["a"])).toEqual([]);
    home.reset();
    expect(home.filter(["a"])).toEqual([]);
  });

  test("forgets its verdicts at a reset", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    feed.filter(["a", "b"]);
    guard.record("a");
    feed.reset();
    expect(feed.filter(["a", "b"])).toEqual(["b"]);
  });

  test("keeps its verdicts after the guard was closed, and lets what is new pass", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const feed = guard.feed();
    feed.filter(["a", "seen"]);
    await guard.close();
    expect(feed.filter(["a", "seen", "new", "new"])).toEqual(["a", "new"]);
    expect(feed.admit(["seen", "newer"])).toEqual(["newer"]);
  });

  test("keeps 20,000 verdicts, forgets the oldest beyond them, and says so once", async () => {
    const { guard, codes } = await openGuard();
    const feed = guard.feed();
    feed.filter(idsOf("item", 20_000));
    guard.record(idsOf("item", 20_000));
    expect(codes().filter((code) => code === "too-large")).toHaveLength(1);
    expect(feed.filter(idsOf("item", 20_000))).toHaveLength(20_000);
    const before = codes().length;
    for (let page = 0; page < 5; page++) expect(feed.filter(idsOf(`more-${String(page)}`, 100))).toHaveLength(100);
    expect(codes().slice(before)).toEqual(["too-large"]);
    // The newest 10,000 are still stopped by the memory, and verdicts of those that are not the oldest still hold.
    expect(feed.filter(idsOf("item", 19_500, 500))).toHaveLength(19_500);
    expect(feed.filter(idsOf("more-4", 100))).toHaveLength(100);
  });

  test("gives one long list beyond the limit whole", async () => {
    const { guard } = await openGuard();
    expect(guard.feed().filter(idsOf("item", 30_000))).toHaveLength(30_000);
    expect(guard.feed().admit(idsOf("item", 30_000))).toHaveLength(30_000);
  });
});

describe("a feed's admit", () => {
  test("gives a page's fresh items, less what an earlier page brought", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const feed = guard.feed();
    expect(feed.admit(itemsOf("a", "seen", "b", "a"))).toEqual(itemsOf("a", "b"));
    expect(feed.admit(itemsOf("b", "c", "seen"))).toEqual(itemsOf("c"));
    expect(feed.admit(itemsOf("a", "b", "c"))).toEqual([]);
  });

  test("gives the same array the same answer, whatever came between, in a list of the caller's own", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    const page = itemsOf("a", "b");
    const first = feed.admit(page);
    first.push({ id: "mine" });
    guard.record(["a", "b"]);
    feed.admit(itemsOf("a", "b", "c"));
    expect(feed.admit(page)).toEqual(itemsOf("a", "b"));
    expect(feed.admit(page.slice())).toEqual([]);
  });

  test("takes frozen pages and empty ones, and keeps items without an id", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    expect(feed.admit(Object.freeze([]))).toEqual([]);
    const page = Object.freeze([{ id: "a" }, {} as { id: string }]);
    expect(feed.admit(page)).toEqual(page);
    expect(feed.admit([{} as { id: string }, { id: "a" }])).toEqual([{}]);
    expect(guard.stats().filtered.withoutId).toBe(2);
  });

  test("admits anew after a reset, the same array too", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    const page = itemsOf("a", "b");
    feed.admit(page);
    feed.reset();
    expect(feed.admit(page)).toEqual(itemsOf("a", "b"));
    guard.record("a");
    feed.reset();
    expect(feed.admit(page)).toEqual(itemsOf("b"));
  });

  test("shares its verdicts with filter", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    const admitted = feed.admit(itemsOf("a", "b"));
    guard.record(["a", "b"]);
    expect(feed.filter(admitted)).toEqual(admitted);
  });
});
