/** Mistakes in an app's code that stop nothing: each is reported once, with a message that names the remedy. */
import { SeenGuard, type Feed } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { idsOf, openGuard, uniqueNamespace } from "../support/node.js";

const posts = (count: number) => Array.from({ length: count }, (_, key) => ({ key, title: "A post" }));
type Posts = readonly { id: string }[];

/** As code without types may call. */
const untyped = (items: unknown) => items as Posts;

describe("a list of five items none of which has a usable id", () => {
  const ways: [string, (guard: SeenGuard, feed: Feed, list: Posts) => unknown][] = [
    ["filter", (guard, _, list) => guard.filter(list)],
    ["split", (guard, _, list) => guard.split(list)],
    ["Feed.filter", (_, feed, list) => feed.filter(list)],
    ["Feed.admit", (_, feed, list) => feed.admit(list)],
    ["Feed.fill", (_, feed, list) => feed.fill(() => Promise.resolve({ items: list, next: null }), 1)],
  ];
  test.each(ways)("is reported by %s, and all of it passes", async (_, run) => {
    const { guard, errors } = await openGuard();
    const result = await run(guard, guard.feed(), untyped(posts(5)));
    const fresh = Array.isArray(result) ? result : Object.values(result as object).find(Array.isArray);
    expect(fresh).toHaveLength(5);
    expect(errors.map(({ code }) => code)).toEqual(["misuse"]);
    expect(errors[0]?.message).toMatch(/looked for a property `id`; the first item has the keys key, title/);
  });

  test("i5: is reported once, however often it is rendered, and another one with its own message", async () => {
    const { guard, errors } = await openGuard();
    const feed = guard.feed();
    for (let render = 0; render < 9; render++) {
      guard.filter(untyped(posts(5 + render)));
      feed.filter(untyped(posts(5 + render)));
    }
    expect(errors).toHaveLength(1);
    guard.filter(posts(5), () => undefined);
    expect(errors[1]?.message).toContain("the function `id` returned none");
    guard.filter(untyped(Array.from({ length: 5 }, (_, index) => 2 ** 60 + index * 1000)));
    expect(errors[2]?.message).toMatch(/the first item is number; an id is .*a safe integer/);
    guard.filter(untyped(Array(5).fill(null)));
    expect(errors[3]?.message).toContain("the first item is null");
    expect(errors).toHaveLength(4);
  });

  test("is reported at most twenty times, whatever keys the items have", async () => {
    const { guard, errors } = await openGuard();
    for (let list = 0; list < 50; list++) guard.filter(untyped(Array(5).fill({ [`key-${String(list)}`]: 1 })));
    expect(errors).toHaveLength(20);
  });

  test("is not reported where one item has an id, or the list is short", async () => {
    const { guard, codes } = await openGuard();
    guard.filter(untyped([...posts(9), { id: "a" }]));
    guard.split(untyped(posts(4)));
    guard.feed().filter([]);
    guard.filter(idsOf("a", 9));
    expect(codes()).toEqual([]);
  });

  test("stops nothing, though its first item cannot be read", async () => {
    const { guard, errors } = await openGuard();
    const { proxy, revoke } = Proxy.revocable({ id: "a" }, {});
    revoke();
    expect(guard.filter(Array<{ id: string }>(5).fill(proxy))).toHaveLength(5);
    expect(errors[0]?.message).toContain("cannot be read");
  });
});

describe("a page of fill that has no items", () => {
  test.each([
    ["a Response", () => Response.json({ items: [] }), /is a Response: return what its json\(\) resolves to/],
    ["an object with others", () => ({ data: [], total: 0 }), /this one has the keys data, total/],
    ["a string", () => "items", /this one is string/],
    ["items that are not an array", () => ({ items: { 0: "a" } }), /this one has the keys items/],
  ])("as %s rejects the call, and is reported once", async (_, page, message) => {
    const { guard, errors } = await openGuard();
    const feed = guard.feed();
    const fetchPage = () => Promise.resolve(page() as never);
    for (let call = 0; call < 2; call++)
      await expect(feed.fill<{ id: string }>(fetchPage, 5)).rejects.toMatchObject({ code: "misuse" });
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toMatch(message);
  });
});

describe("no list", () => {
  test.each<[string, () => unknown, RegExp]>([
    ["a promise", () => Promise.resolve([{ id: "a" }]), /has no keys/],
    ["a page", () => ({ items: [{ id: "a" }] }), /has the keys items/],
    ["a Response", () => Response.json([]), /a list is an array of items/],
    ["a string", () => "items", /is string/],
  ])("such as %s is reported once, and nothing is thrown", async (_, make, message) => {
    const { guard, errors } = await openGuard();
    for (let render = 0; render < 3; render++) {
      expect(guard.filter(untyped(make()))).toEqual([]);
      expect(guard.split(untyped(make()))).toEqual({ fresh: [], seen: [] });
    }
    expect(errors).toHaveLength(1);
    const other = await openGuard();
    const feed = other.guard.feed();
    for (let render = 0; render < 3; render++) expect(feed.filter(untyped(make()))).toEqual([]);
    expect(other.errors).toHaveLength(1);
    expect(errors).toMatchObject([{ code: "misuse", message: expect.stringMatching(message) as string }]);
  });

  test("is neither any iterable, of which all pass, nor `undefined` or null", async () => {
    const { guard, codes } = await openGuard();
    expect(guard.filter(untyped(new Set([{ id: "a" }, { id: "b" }])))).toEqual([{ id: "a" }, { id: "b" }]);
    for (const nothing of [undefined, null, [], new Set()]) expect(guard.filter(untyped(nothing))).toEqual([]);
    expect(codes()).toEqual([]);
  });
});

test.each(["a guard", "a feed"])(
  "an id function that throws lets that item pass %s, and is reported once",
  async (which) => {
    const { guard, errors } = await openGuard();
    guard.record(["a", "b"]);
    const list = which === "a feed" ? guard.feed() : guard;
    const idOf = (item: { post?: { id: string } }) => (item.post as { id: string }).id;
    const items = [{ post: { id: "a" } }, {}, { post: { id: "b" } }];
    for (let render = 0; render < 3; render++) expect(list.filter(items, idOf)).toEqual([{}]);
    expect(errors).toMatchObject([{ code: "misuse", message: expect.stringContaining("has thrown") as string }]);
  },
);

test("record and unsee accept objects with an id, and report an object without one once", async () => {
  const { guard, errors } = await openGuard();
  expect(guard.record({ id: "a" })).toBe(1);
  expect(guard.record(new Set([{ id: "b" }, "c"]))).toBe(2);
  expect(guard.unsee([{ id: "a" }, { id: 7 }])).toBe(1);
  expect(errors).toEqual([]);
  for (let again = 0; again < 3; again++) expect(guard.record([{ key: 1 }, { id: "d" }] as never)).toBe(again ? 0 : 1);
  expect(errors).toMatchObject([{ code: "misuse", message: expect.stringContaining("has the keys key") as string }]);
});

test("use after close is reported once, and everything passes", async () => {
  const { guard, errors } = await openGuard();
  guard.record("a");
  const feed = guard.feed();
  await guard.close();
  feed.filter(["a"]);
  expect([guard.stats().engine, errors]).toEqual(["none", []]);
  for (let render = 0; render < 3; render++) {
    expect(guard.filter(["a", "b"])).toEqual(["a", "b"]);
    expect(guard.record("c")).toBe(0);
  }
  expect(errors).toMatchObject([{ code: "misuse", message: expect.stringContaining("after its `close`") as string }]);
});

test("another version of the package on the page is reported, with both versions", async () => {
  const registry = Symbol.for("seenguard.registry.7");
  vi.stubGlobal(registry, { version: "9.8.7" });
  const { errors } = await openGuard();
  vi.unstubAllGlobals();
  expect(errors).toMatchObject([{ code: "misuse" }]);
  expect(errors[0]?.message).toMatch(/seenguard (9\.8\.7 and \d+\.\d+\.\d+|\d+\.\d+\.\d+ and 9\.8\.7)/);
});

test("by default the console has each message once", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const guard = await SeenGuard.open({ namespace: uniqueNamespace(), storage: "none" });
  for (let render = 0; render < 3; render++) {
    guard.filter(untyped(posts(5)));
    guard.filter(posts(5), () => null);
    guard.apply({ shards: ["!"] });
    guard.apply({ shards: ["AAAA"] });
  }
  const lines = warn.mock.calls.map(([line]) =>
    String(line).replace(/^(seenguard: ).* \(https:[^#]*(#.*)\)$/s, "$1$2"),
  );
  warn.mockRestore();
  expect(lines).toEqual([
    "seenguard: #misuse",
    "seenguard: #misuse",
    "seenguard: #bad-snapshot",
    "seenguard: #bad-snapshot",
  ]);
  await guard.close();
});
