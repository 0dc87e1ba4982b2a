/**
 * Frameworks wrap an app's state: Vue, Alpine and others put a proxy around it and around all objects in it.
 */
import { SeenGuard, type Feed } from "seenguard";
import { ShardChain } from "seenguard/server";
import { describe, expect, test } from "vitest";
import { isReactive, reactive, ref, watch } from "vue";
import { heldBy, openGuard } from "../support/node.js";

/** The simplest such proxy: objects in objects are wrapped, and methods are called on the wrapper. */
function wrapped<T extends object>(target: T): T {
  return new Proxy(target, {
    get(object, key, receiver): unknown {
      const value: unknown = Reflect.get(object, key, receiver);
      return typeof value === "object" && value !== null ? wrapped(value) : value;
    },
  });
}

const proxies: { name: string; wrap: <T extends object>(state: T) => T }[] = [
  { name: "a plain deep proxy", wrap: wrapped },
  { name: "Vue's reactive", wrap: (state) => reactive(state) as typeof state },
  { name: "Vue's ref", wrap: (state) => ref(state).value as typeof state },
];

describe.each(proxies)("in $name", ({ wrap }) => {
  test("a guard works as outside", async () => {
    const chain = await ShardChain.create();
    chain.record("on the server");
    const { guard: outside, errors } = await openGuard();
    const { guard, snapshot, items } = wrap({
      guard: outside,
      snapshot: { ...chain.snapshot(), version: 7 },
      items: [{ id: "on the server" }, { id: "here" }, { id: "new" }],
    });
    expect(guard).toBeInstanceOf(SeenGuard);
    expect(guard.apply(snapshot)).toMatchObject({ applied: true });
    expect(guard.record(["here", "unseen"])).toBe(2);
    expect(guard.unsee("unseen")).toBe(1);
    expect(guard.filter(items).map(({ id }) => id)).toEqual(["new"]);
    expect(guard.split(items).seen.map(({ id }) => id)).toEqual(["on the server", "here"]);
    expect([guard.explain("here").seen, guard.explain("new").seen]).toEqual([true, false]);
    expect([guard.pending(), guard.stats().version]).toEqual([["here"], 7]);
    expect(guard.headers()).toEqual(outside.headers());
    expect(heldBy(guard)).toBe(heldBy(outside));
    const stop = guard.report({ send: () => Promise.resolve() });
    guard.observeItem({} as Element, "new")();
    guard.observe({} as Element)();
    await guard.flush();
    expect(guard.stats()).toEqual(outside.stats());
    stop();
    await guard.close();
    expect(outside.apply(snapshot)).toMatchObject({ reason: "closed" });
    expect(outside.filter(["here"])).toEqual(["here"]);
    expect(errors).toMatchObject([{ code: "misuse" }]);
  });

  test("a feed decides each id once", async () => {
    const { guard } = await openGuard();
    const { feed } = wrap<{ feed: Feed }>({ feed: guard.feed() });
    guard.record("a");
    expect(feed.filter(["a", "b"])).toEqual(["b"]);
    guard.record("b");
    expect(feed.filter(["a", "b"])).toEqual(["b"]);
    // Each read of a list returns other objects.
    for (let again = 0; again < 2; again++)
      expect(feed.admit(wrap([{ id: "c" }, { id: "d" }]))).toEqual([{ id: "c" }, { id: "d" }]);
    const fetchPage = ({ page }: { page: number }) => Promise.resolve(page > 1 ? null : { items: [String(page)] });
    expect(await feed.fill(fetchPage, 2)).toMatchObject({ items: ["0", "1"], end: "filled" });
    feed.reset();
    expect(feed.filter(["b", "c"])).toEqual(["c"]);
  });

  test("a chain works as outside", async () => {
    const outside = await ShardChain.create({ format: "guava" });
    const { chain, options } = wrap({ chain: outside, options: { now: 1_764_000_000 } });
    expect(chain).toBeInstanceOf(ShardChain);
    expect(chain.record(["a", "b"], options)).toBe(2);
    expect(chain.ingest({ namespace: "home", receivedAt: 0, impressions: [{ id: "c", at: 0 }], unseen: [] })).toBe(1);
    chain.unsee("b", options);
    expect(chain.filter(["a", "b", "c"], options)).toEqual(["b"]);
    expect([chain.has("a", options), chain.rejected]).toEqual([true, []]);
    expect(chain.snapshot(options)).toEqual(outside.snapshot({ now: 1_764_000_000 }));
    chain.forget(options);
    expect(chain.filter(["a"], options)).toEqual(["a"]);
    chain.free();
    expect(() => outside.has("a")).toThrow("freed");
  });
});

test("deep observers of state find no properties in guards, feeds and chains", async () => {
  const { guard } = await openGuard();
  const state = reactive({ guard, feed: guard.feed(), chain: await ShardChain.create() });
  let changes = 0;
  watch(state, () => changes++, { deep: true, flush: "sync" });
  guard.record("a");
  state.feed.filter(["a", "b"]);
  state.chain.record("a");
  state.guard.apply(state.chain.snapshot());
  expect(changes).toBe(0);
  expect(isReactive(state.guard)).toBe(true);
  for (const each of [guard, state.feed, state.chain]) {
    const found = Object.values(each).filter((value) => typeof value === "object");
    expect(found).toEqual(each === state.chain ? [[]] : []); // what a chain rejected
  }
});
