/** A feed decides each id once. */
import type { FeedOptions, IdOf } from "seenguard";
import { describe, expect, test } from "vitest";
import { follow, idsOf, NOW, openGuard, recordInTurn, shippedSnapshot } from "../support/node.js";

const itemsOf = (...ids: string[]) => ids.map((id) => ({ id }));

describe("a feed's filter", () => {
  test("i4: returns items that were fresh when they arrived in each later rendering, too, after they were seen", async () => {
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

  test("i4: decides an id once, and notifies tools of that only", async () => {
    const { guard } = await openGuard();
    const { decisions } = follow(guard);
    const feed = guard.feed();
    for (let again = 0; again < 5; again++) feed.filter(["a", "b", 7, "7"]);
    await Promise.resolve();
    expect(decisions.reduce((sum, { items, stopped }) => sum + items - stopped.length, 0)).toBe(3);
  });

  test("gets the ids from a callback", async () => {
    const { guard } = await openGuard();
    guard.record(2);
    const idOf: IdOf<{ key: number }> = ({ key }) => key;
    expect(guard.feed().filter([{ key: 1 }, { key: 2 }, { key: 1 }], idOf)).toEqual([{ key: 1 }]);
  });

  test("drops its verdicts at a reset", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    feed.filter(["a", "b"]);
    guard.record("a");
    feed.reset();
    expect(feed.filter(["a", "b"])).toEqual(["b"]);
  });

  test("keeps its verdicts after the guard was closed, and lets new items pass", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const feed = guard.feed();
    feed.filter(["a", "seen"]);
    await guard.close();
    expect(feed.filter(["a", "seen", "new", "new"])).toEqual(["a", "new"]);
    expect(feed.admit(["seen", "newer"])).toEqual(["newer"]);
  });

  test("i7: stores the verdicts of a list of any length", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    const ids = idsOf("item", 30_000);
    expect(feed.filter(ids)).toHaveLength(30_000);
    guard.record(ids);
    expect(feed.filter(ids)).toHaveLength(30_000);
    expect(feed.admit(ids)).toHaveLength(30_000);
  });
});

describe("a feed's admit", () => {
  test("returns a page's fresh items without those of earlier pages", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const feed = guard.feed();
    expect(feed.admit(itemsOf("a", "seen", "b", "a"))).toEqual(itemsOf("a", "b"));
    expect(feed.admit(itemsOf("b", "c", "seen"))).toEqual(itemsOf("c"));
    expect(feed.admit(itemsOf("a", "b", "c"))).toEqual([]);
  });

  test("of the latest page returns the same items, and of the same array grown the added ones, too", async () => {
    const { guard } = await openGuard();
    guard.record("seen");
    const feed = guard.feed();
    feed.admit(itemsOf("before"));
    const page = itemsOf("a", "seen", "before", "b");
    const first = feed.admit(page);
    expect(first).toEqual(itemsOf("a", "b"));
    first.push({ id: "mine" });
    guard.record(["a", "b"]);
    // React runs updaters twice; MobX and Vue return other objects with each read of a list.
    expect(feed.admit(page)).toEqual(itemsOf("a", "b"));
    const again = page.map((item) => new Proxy(item, {}));
    const admitted = feed.admit(again);
    expect(admitted).toEqual(itemsOf("a", "b"));
    expect(admitted[0]).toBe(again[0]);
    feed.admit(page);
    page.push(...itemsOf("c", "a", "seen"));
    expect(feed.admit(page)).toEqual(itemsOf("a", "b", "c"));
    page.push(...itemsOf("d"));
    expect(feed.admit(page)).toEqual(itemsOf("a", "b", "c", "d"));
  });

  test("of another list that begins with the ids of the latest page returns none of them", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    expect(feed.admit(["pinned"])).toEqual(["pinned"]);
    expect(feed.admit(["pinned", "a"])).toEqual(["a"]);
    expect(feed.admit(["pinned", "a", "b"])).toEqual(["b"]);
  });

  test("accepts frozen and empty pages, and returns items without an id", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    expect(feed.admit(Object.freeze([]))).toEqual([]);
    const page = Object.freeze([{ id: "a" }, {} as { id: string }]);
    expect(feed.admit(page)).toEqual(page);
    expect(feed.admit([{} as { id: string }, { id: "a" }])).toEqual([{}]);
  });
});

interface Post {
  readonly id: string;
  /** The post that it reposts. */
  readonly of?: string;
}
const allIdsOf: IdOf<Post> = ({ id, of }) => [id, of];

describe("a feed of items with several ids", () => {
  test("stops an item of which any id was seen, and stores the verdict under its first id", async () => {
    const { guard } = await openGuard();
    guard.record("original");
    const feed = guard.feed();
    const list: Post[] = [{ id: "repost", of: "original" }, { id: "other" }];
    expect(feed.filter(list, allIdsOf)).toEqual([{ id: "other" }]);
    expect(feed.filter([{ id: "repost" }, { id: "other", of: "repost" }], allIdsOf)).toEqual([
      { id: "other", of: "repost" },
    ]);
  });

  test("shows an item that was shown, also when another one with one of its ids is inserted before it", async () => {
    const { guard } = await openGuard();
    const feed = guard.feed();
    const repost = { id: "repost", of: "original" };
    expect(feed.filter([repost], allIdsOf)).toEqual([repost]);
    expect(feed.filter([{ id: "original" }, repost], allIdsOf)).toEqual([repost]);
    guard.record(["repost", "original"]);
    expect(feed.filter([{ id: "original" }, repost], allIdsOf)).toEqual([repost]);
  });
});

describe("an id made unseen", () => {
  test("is decided again by every feed, and other seen ids stay stopped", async () => {
    const { guard } = await openGuard();
    guard.record(["a", "b"]);
    const feeds = [guard.feed(), guard.feed()];
    for (const feed of feeds) expect(feed.filter(["a", "b", "c"])).toEqual(["c"]);
    expect(guard.unsee("a")).toBe(1);
    guard.record("c");
    for (const feed of feeds) expect(feed.filter(["a", "b", "c"])).toEqual(["a", "c"]);
    guard.record("a");
    for (const feed of feeds) expect(feed.filter(["a", "b", "c"])).toEqual(["a", "c"]);
    expect(guard.feed().filter(["a", "b", "c"])).toEqual([]);
  });

  test("by the server passes in a feed that had stopped it, as do ids of a deleted history", async () => {
    const { guard } = await openGuard();
    const shipped = await shippedSnapshot(["a", "b"]);
    guard.apply(shipped);
    recordInTurn(guard, ["c"]);
    const feed = guard.feed();
    expect(feed.filter(["a", "b", "c"])).toEqual([]);
    guard.apply({ ...shipped, version: shipped.version + 1, unseen: [{ id: "a", at: NOW * 1000 }] });
    expect(feed.filter(["a", "b", "c"])).toEqual(["a"]);
    guard.apply({ version: 0, shards: [], forgetBefore: Math.ceil(Date.now() / 1000) + 1 });
    expect(feed.filter(["a", "b", "c"])).toEqual(["a", "b", "c"]);
  });
});

test("wrong options of a feed are refused with the option's name", async () => {
  const { guard } = await openGuard();
  for (const [options, name] of [
    [{ key: "" }, "key"],
    [{ key: 7 }, "key"],
    [{ seen: "last" }, "seen"],
    [{ keys: "home" }, "keys"],
    [null, "feed"],
    ["home", "feed"],
  ] as const) {
    const wrong = () => guard.feed(options as FeedOptions);
    expect(wrong).toThrow(expect.objectContaining({ code: "bad-option" }) as Error);
    expect(wrong).toThrow(name);
  }
});
