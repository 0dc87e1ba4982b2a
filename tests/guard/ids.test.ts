/** Which values are ids, and which ids are the same. */
import { ShardChain } from "seenguard/server";
import type { ItemId } from "seenguard";
import { describe, expect, test } from "vitest";
import { NOW, openGuard, shippedSnapshot } from "../support/node.js";

/** One id of every kind; no two are the same. */
const EVERY_KIND: readonly ItemId[] = [
  "article-17",
  "",
  " ",
  "\n",
  "\0",
  "\0\0",
  "a\0b",
  "a",
  "b",
  "🦀",
  "新闻-17",
  "é",
  "e\u0301",
  "https://news.example/a?b=c#d",
  "8e73ca47-ec14-4a46-a199-a11d2f978d87",
  "__proto__",
  "constructor",
  "x".repeat(1_024),
  0,
  -1,
  17,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  2n ** 64n - 1n,
  -(2n ** 70n),
];

/** Values that are not ids. */
const NO_IDS: readonly unknown[] = [
  undefined,
  null,
  true,
  NaN,
  Infinity,
  1.5,
  2 ** 53,
  -(2 ** 53),
  Symbol("id"),
  () => "id",
  ["id"],
  new Date(0),
];

/** Strings that are ids on a server, and not on a device. */
const SERVER_ONLY = ["\ud800", "x\udfffy", "x".repeat(1_025)];

describe("an id of any kind", () => {
  test("is stopped once it is recorded, and no other", async () => {
    for (const id of EVERY_KIND) {
      const { guard } = await openGuard();
      expect(guard.record(id)).toBe(1);
      expect(guard.explain(id).seen).toBe(true);
      expect(guard.filter(EVERY_KIND)).toEqual(EVERY_KIND.filter((other) => other !== id));
      expect(guard.pending()).toEqual([String(id)]);
      expect(guard.explain(id)).toMatchObject({ seen: true, by: "pending" });
      await guard.close();
    }
  });

  test("is stopped when a server's shard contains it", async () => {
    const { guard } = await openGuard();
    guard.apply(await shippedSnapshot(EVERY_KIND));
    expect(guard.filter(EVERY_KIND)).toEqual([]);
    expect(EVERY_KIND.every((id) => guard.explain(id).seen)).toBe(true);
  });

  test("is in a chain once it is recorded there", async () => {
    const chain = await ShardChain.create();
    expect(chain.record(EVERY_KIND, { now: NOW })).toBe(EVERY_KIND.length);
    expect(EVERY_KIND.every((id) => chain.has(id, { now: NOW }))).toBe(true);
    expect(chain.filter([...EVERY_KIND, "new"])).toEqual(["new"]);
    chain.free();
  });
});

describe("ids of different types", () => {
  const same: readonly (readonly ItemId[])[] = [
    [1, "1", 1n],
    [0, -0, "0", 0n],
    [-7, "-7", -7n],
    [Number.MAX_SAFE_INTEGER, "9007199254740991", 9007199254740991n],
  ];
  for (const ids of same) {
    const title = ids.map((id) => `${typeof id} ${Object.is(id, -0) ? "-0" : String(id)}`).join(", ");
    test(`i8: are the same if their decimal strings are: ${title}`, async () => {
      for (const recorded of ids) {
        const { guard } = await openGuard();
        guard.record(recorded);
        expect(guard.filter(ids)).toEqual([]);
        await guard.close();
      }
      const { guard } = await openGuard();
      expect(guard.filter(ids)).toEqual([ids[0]]);
      expect(guard.feed().filter(ids)).toEqual([ids[0]]);
    });
  }

  test("are not the same if their strings differ", async () => {
    const { guard } = await openGuard();
    guard.record("01");
    expect(guard.filter(["1", 1, "1.0", "01 "])).toEqual(["1", "1.0", "01 "]);
  });
});

describe("a string with a lone surrogate, or of over 1,024 UTF-16 units,", () => {
  test("i8: is not an id on a device: it passes and is not recorded", async () => {
    const { guard, errors } = await openGuard();
    expect(guard.record([...SERVER_ONLY, "a"])).toBe(1);
    expect(guard.pending()).toEqual(["a"]);
    expect(guard.filter([...SERVER_ONLY, "a", "\ufffd"])).toEqual([...SERVER_ONLY, "\ufffd"]);
    expect(SERVER_ONLY.some((id) => guard.explain(id).seen)).toBe(false);
    expect(errors).toEqual([]);
  });

  test("i8: is an id of a chain, where a lone surrogate becomes U+FFFD, as in every encoder", async () => {
    const chain = await ShardChain.create();
    expect(chain.record(SERVER_ONLY, { now: NOW })).toBe(SERVER_ONLY.length);
    expect(chain.filter([...SERVER_ONLY, "\ufffd", "\udc00", "new"], { now: NOW })).toEqual(["new"]);
    chain.record(["a\ud800", "\udc00b"], { now: NOW });
    expect(["a\ufffd", "\ufffdb"].every((id) => chain.has(id, { now: NOW }))).toBe(true);
    chain.free();
  });
});

describe("a value that is not an id", () => {
  test("is not stopped, not recorded and not pending", async () => {
    const { guard, errors } = await openGuard();
    for (const id of NO_IDS as readonly ItemId[]) {
      if (!Array.isArray(id)) expect(guard.record(id)).toBe(0);
      expect(guard.explain(id).seen).toBe(false);
      expect(guard.explain(id)).toEqual({ seen: false });
    }
    expect(guard.record(NO_IDS as readonly ItemId[])).toBe(0);
    expect(guard.pending()).toEqual([]);
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(["misuse"]));
  });

  test("does not prevent other ids from being recorded", async () => {
    const { guard } = await openGuard();
    expect(guard.record([...NO_IDS, "a", 2 ** 53, "b"] as readonly ItemId[])).toBe(2);
    expect(guard.pending()).toEqual(["a", "b"]);
  });

  test("is left out by a chain", async () => {
    const chain = await ShardChain.create();
    expect(chain.record(NO_IDS as readonly ItemId[], { now: NOW })).toBe(0);
    expect((NO_IDS as readonly ItemId[]).some((id) => chain.has(id, { now: NOW }))).toBe(false);
    expect(chain.snapshot({ now: NOW })).toEqual({ version: 0, shards: [], now: NOW });
    chain.free();
  });
});
