/** The results of `record`, `pending`, `explain` and `unsee`. */
import type { ItemId } from "seenguard";
import { describe, expect, test } from "vitest";
import { heldBy, idsOf, openGuard, shippedSnapshot } from "../support/node.js";

describe("record", () => {
  test("returns how many ids were not known on this device", async () => {
    const { guard } = await openGuard();
    expect(guard.record("a")).toBe(1);
    expect(guard.record(["a", "b", "b", "c"])).toBe(2);
    expect(guard.record(new Set(["a", "b"]))).toBe(0);
    expect(guard.record([])).toBe(0);
    expect(guard.record(idsOf("many", 3000))).toBe(3000);
  });

  test("accepts one id or any iterable of ids, and records the ids before an error of the iterable", async () => {
    const { guard } = await openGuard();
    function* breaking(): Generator<ItemId> {
      yield "a";
      yield 7n;
      throw new Error("no more");
    }
    expect(guard.record(breaking())).toBe(2);
    expect(guard.record(new Map([["b", 1]]).keys())).toBe(1);
    expect(guard.pending()).toEqual(["a", "7", "b"]);
  });

  test("never throws for any argument", async () => {
    const { guard, errors } = await openGuard();
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const nothing of [null, undefined, {}, true, Symbol("a"), () => "a", NaN, 1.5, proxy, [[["a"]]]]) {
      expect(guard.record(nothing as ItemId)).toBe(0);
    }
    expect(guard.pending()).toEqual([]);
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(["misuse"]));
  });

  test("i1: makes filter stop an id at once, and a feed that had decided it still shows it", async () => {
    const { guard } = await openGuard();
    const [decided, later] = [guard.feed(), guard.feed()];
    expect(decided.filter(["a", "b"])).toEqual(["a", "b"]);
    guard.record("a");
    expect(guard.filter(["a", "b"])).toEqual(["b"]);
    expect(decided.filter(["a", "b"])).toEqual(["a", "b"]);
    expect(later.filter(["a", "b"])).toEqual(["b"]);
  });

  test("i1: remembers as many impressions as the option `remember`, and at most a tenth more", async () => {
    for (const remember of [1, 50]) {
      const { guard } = await openGuard({ remember });
      guard.record(["first", ...idsOf("item", remember - 1)]);
      expect(guard.explain("first").seen).toBe(true);
      guard.record(idsOf("other", Math.floor(remember / 10) + 1));
      expect(guard.explain("first").seen).toBe(false);
      expect(guard.stats().remembered).toBeLessThanOrEqual(remember + remember / 10);
    }
  });

  test("accepts an id of 1,024 UTF-16 units, and not a longer one", async () => {
    const { guard, codes } = await openGuard();
    const [longest, longer] = ["🦀".repeat(512), "x".repeat(1025)];
    expect(guard.record([longest, longer, "a"])).toBe(2);
    expect(guard.filter([longest, longer, "a", "b"])).toEqual([longer, "b"]);
    expect(guard.pending()).toEqual([longest, "a"]);
    expect(codes()).toEqual([]);
  });
});

describe("pending", () => {
  test("lists impressions that no snapshot covers, oldest first, with repeated ones last", async () => {
    const { guard } = await openGuard();
    guard.record(["a", "b", "c"]);
    guard.record("a");
    expect(guard.pending()).toEqual(["b", "c", "a"]);
    guard.apply(await shippedSnapshot(["c"]));
    expect(guard.pending()).toEqual(["b", "a"]);
  });

  test("is limited to as many as are requested, the oldest", async () => {
    const { guard } = await openGuard();
    guard.record(["a", "b", "c"]);
    expect(guard.pending(2)).toEqual(["a", "b"]);
    expect(guard.pending(0)).toEqual([]);
    expect(guard.pending(1.9)).toEqual(["a"]);
    for (const all of [3, 100, Infinity, 2 ** 53, undefined]) expect(guard.pending(all)).toEqual(["a", "b", "c"]);
  });
});

describe("explain", () => {
  test("names the first of pending, device and server that stops an id", async () => {
    const { guard } = await openGuard();
    const shipped = await shippedSnapshot(["covered", "server"]);
    guard.record(["covered", "pending"]);
    guard.apply(shipped);
    expect(guard.explain("pending")).toMatchObject({ seen: true, by: "pending" });
    expect(guard.explain("covered")).toEqual({ seen: true, by: "device", at: expect.any(Date) as Date });
    expect(guard.explain("server")).toEqual({ seen: true, by: "server" });
    expect(guard.explain("other")).toEqual({ seen: false });
  });

  test("i4: agrees with filter, and changes no figure", async () => {
    const { guard } = await openGuard();
    guard.apply(await shippedSnapshot(idsOf("a", 100)));
    guard.record(idsOf("b", 100));
    const before = guard.stats();
    const ids = [...idsOf("a", 150), ...idsOf("b", 150)];
    const fresh = ids.filter((id) => !guard.explain(id).seen);
    expect(fresh.length).toBeGreaterThan(90);
    expect(guard.stats()).toEqual(before);
    expect(guard.filter(ids)).toEqual(fresh);
  });
});

describe("unsee", () => {
  test("lets ids pass until they are recorded again, and returns how many were stopped", async () => {
    const { guard } = await openGuard();
    guard.apply(await shippedSnapshot(["server"]));
    guard.record(["a", "b"]);
    expect(guard.unsee(["a", "server", "never"])).toBe(2);
    expect(guard.unsee("a")).toBe(0);
    expect(guard.filter(["a", "b", "server"])).toEqual(["a", "server"]);
    expect(guard.explain("a")).toEqual({ seen: false });
    expect(guard.pending()).toEqual(["b"]);
    guard.record(["a", "server"]);
    expect(guard.filter(["a", "b", "server"])).toEqual([]);
  });

  test("does nothing on a closed guard", async () => {
    const { guard } = await openGuard();
    guard.record("a");
    await guard.close();
    expect(guard.unsee("a")).toBe(0);
    expect(heldBy(guard)).toBe("");
  });
});
