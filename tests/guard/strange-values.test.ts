/** What code without types may pass: objects that throw or change while they are read, or that call back. */
import { SeenGuardError, type IdOf, type Snapshot } from "seenguard";
import { simhash } from "seenguard/near-duplicates";
import { parseReport, ShardChain } from "seenguard/server";
import { useSeenFeed } from "seenguard/vue";
import { describe, expect, test } from "vitest";
import { MapStorage, NOW, openGuard, shippedSnapshot, uniqueNamespace } from "../support/node.js";

/** As code without types may pass. */
const untyped = (value: unknown) => value as never;

/** An object that throws when it is read. */
function unreadable(error: unknown = new Error("of the app")): never {
  const refuse = () => {
    throw error;
  };
  return new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse }) as never;
}

function revoked(): never {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy as never;
}

/** An object whose property is `first` at the first read, and then `then`. */
function changing(name: string, first: unknown, then: unknown): object {
  let reads = 0;
  return Object.defineProperty({}, name, { get: () => (reads++ === 0 ? first : then), enumerable: true });
}

describe("i5: no value that an app throws stops anything", () => {
  const thrown: [string, unknown][] = [
    ["an error whose message is not a string", Object.assign(new Error(), { message: Symbol("message") })],
    ["a revoked proxy", revoked()],
    ["a proxy that throws", unreadable()],
  ];

  test.each(thrown)("by a getter of a snapshot: %s", async (_, error) => {
    const { guard, codes } = await openGuard();
    expect(guard.apply(unreadable(error))).toMatchObject({
      applied: false,
      reason: "invalid",
      error: { code: "bad-snapshot" },
    });
    expect(codes()).toEqual(["bad-snapshot"]);
  });

  test.each(thrown)("by a storage: %s", async (_, error) => {
    const storage = new MapStorage();
    const namespace = uniqueNamespace();
    const { guard, codes } = await openGuard({ storage, namespace });
    storage.before = () => {
      throw error;
    };
    guard.record("a");
    await guard.flush();
    expect(codes()).toEqual(["storage"]);
    storage.before = () => {};
    guard.record("b");
    await guard.flush();
    await guard.close();
    const { guard: next } = await openGuard({ storage, namespace });
    expect(next.filter(["a", "b", "c"])).toEqual(["c"]);
  });

  test.each(thrown)("by a transport: %s", async (_, error) => {
    const { guard, codes } = await openGuard();
    let requests = 0;
    guard.report({
      url: "/seen",
      send: () => {
        if (requests++ > 0) return Promise.resolve();
        throw error;
      },
    });
    guard.record("a");
    expect(await guard.deliver()).toEqual({ delivered: 0, left: 1 });
    expect(codes()).toEqual(["delivery"]);
    expect(await guard.deliver()).toEqual({ delivered: 1, left: 0 });
  });

  test("and no such thing is a SeenGuardError", () => {
    expect((revoked() as unknown) instanceof SeenGuardError).toBe(false);
    expect((unreadable() as unknown) instanceof SeenGuardError).toBe(false);
  });
});

describe("options that cannot be read are wrong options", () => {
  const refusal = expect.objectContaining({ name: "SeenGuardError", code: "bad-option" }) as Error;

  test("features that throw while they are listed", () => {
    const features = function* () {
      yield "a";
      throw new Error("of the app");
    };
    expect(() => simhash(features())).toThrow(refusal);
    expect(() => simhash(unreadable())).toThrow(refusal);
  });
});

test("a signal that cannot be listened to is refused, and the next fill fetches", async () => {
  const { guard } = await openGuard();
  const feed = guard.feed();
  const fetchPage = () => Promise.resolve({ items: ["a"] });
  // Its methods refuse to be called on what merely inherits them.
  const derived: unknown = Object.create(new AbortController().signal, { addEventListener: { get: unreadable } });
  for (const signal of [{}, derived, "no signal"])
    await expect(feed.fill(fetchPage, 1, untyped({ signal }))).rejects.toMatchObject({ code: "bad-option" });
  expect(await feed.fill(fetchPage, 1)).toMatchObject({ items: ["a"], end: "filled" });
});

describe("a value that is valid when it is checked and another one when it is used", () => {
  const impression = (name: string, first: unknown) =>
    Object.assign(changing(name, first, Symbol("another")), name === "id" ? { at: 1 } : { id: "a" });

  test.each([
    ["id", "a"],
    ["at", 1],
  ])("the %s of a snapshot's unseen ids: as it was checked", async (name, first) => {
    const { guard, codes } = await openGuard();
    const snapshot = { shards: [], unseen: [impression(name, first)] } as unknown as Snapshot;
    expect(guard.apply(snapshot)).toMatchObject({ applied: true });
    guard.record("b");
    expect(guard.filter(["a", "b"])).toEqual(["a"]);
    expect([codes(), guard.stats().engine === "none"]).toEqual([[], false]);
  });

  test.each([
    ["id", "a"],
    ["at", 1],
  ])("the %s of what a device reports: as it was checked", async (name, first) => {
    const chain = await ShardChain.create();
    const report = { namespace: "home", now: 1, receivedAt: 1, impressions: [impression(name, first)] };
    expect(chain.ingest(untyped(report))).toBe(1);
    expect(chain.has("a", { now: NOW })).toBe(true);
    const stored = { shards: [], unseen: [impression(name, first)] };
    expect((await ShardChain.from(untyped(stored))).has("a")).toBe(false);
    expect(parseReport({ ...report, impressions: [impression(name, first)] }).impressions).toMatchObject([{ id: "a" }]);
  });

  test("the sizes of a chain's format", async () => {
    const format = Object.assign(changing("capacity", undefined, Symbol("another")), {
      kind: "go-bloomfilter",
      hashes: 5,
    });
    const chain = await ShardChain.create(untyped({ format }));
    expect(chain.record("a", { now: NOW })).toBe(1);
    expect(chain.has("a", { now: NOW })).toBe(true);
  });
});

test("a list of ids with overridden methods is read by its elements", async () => {
  const { guard } = await openGuard();
  const ids = Object.assign(["a", Symbol("no id"), "b"], { filter: () => [Symbol("no id")] });
  guard.record("b");
  const idOf = (() => ids) as unknown as IdOf<string>;
  expect(guard.filter(["of a and b"], idOf)).toEqual([]);
  expect(guard.filter(["of c"], () => "c")).toEqual(["of c"]);
});

test("an item may have as many ids as a call accepts", async () => {
  const { guard } = await openGuard();
  const ids = Array.from({ length: 20_000 }, (_, index) => `id-${String(index)}`);
  guard.record("id-19999");
  expect(guard.filter(["an item"], () => ids)).toEqual([]);
});

test.each(["record", "unsee"] as const)(
  "a chain that is freed while %s reads the ids throws, and other chains work",
  async (method) => {
    const [chain, other] = [await ShardChain.create(), await ShardChain.create()];
    const ids = function* () {
      yield "a";
      chain.free();
    };
    expect(() => chain[method](ids())).toThrow(expect.objectContaining({ code: "bad-option" }) as Error);
    expect(other.record("a")).toBe(1);
    expect(other.has("a")).toBe(true);
  },
);

describe("a list that claims to be endless is read by its elements", () => {
  const endless = <T>(list: T[]): T[] =>
    new Proxy(list, { get: (own, key) => (key === "length" ? 2 ** 31 : (Reflect.get(own, key) as unknown)) });

  test("of ids", async () => {
    const [{ guard }, chain] = [await openGuard(), await ShardChain.create()];
    expect(guard.record(endless(["a"]))).toBe(1);
    expect(guard.unsee(endless(["a"]))).toBe(1);
    expect(chain.record(endless(["a"]))).toBe(1);
  });

  test("of a storage's keys", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const lying = {
      get: (key: string) => storage.get(key),
      set: (key: string, value: string) => storage.set(key, value),
      remove: (key: string) => storage.remove(key),
      keys: () => endless(storage.keys()),
    };
    for (const fresh of [["a"], []]) {
      const { guard, codes } = await openGuard({ storage: lying, namespace });
      expect(guard.filter(["a"])).toEqual(fresh);
      guard.record("a");
      await guard.close();
      expect(codes()).toEqual([]);
    }
  });

  test("of shards and features", async () => {
    const { guard } = await openGuard();
    const { shards } = await shippedSnapshot(["a"]);
    expect(guard.apply({ shards: endless(shards) })).toMatchObject({ applied: true });
    expect((await ShardChain.from(endless(shards))).has("a")).toBe(true);
    expect(simhash(endless(["a"]))).toBe(simhash(["a"]));
  });
});

test("a list that a server rendered shows items that cannot be read", async () => {
  const { guard } = await openGuard();
  const items = [unreadable(), { id: "a" }, { id: revoked() }];
  const { items: shown } = useSeenFeed(guard, items, { ssr: true });
  expect(shown.value).toHaveLength(3);
  guard.record("b");
  const { items: later } = useSeenFeed(guard, [...items, { id: "b" }], {
    id: () => {
      throw new Error("of the app");
    },
    ssr: true,
  });
  expect(later.value).toHaveLength(4);
});
