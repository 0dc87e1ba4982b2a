/**
 * A Wasm module that traps: its guards let everything pass and report it once, until a new engine has loaded the stored
 * data; after a second trap until the next document.
 */
import type { Report, SeenGuard } from "seenguard";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test } from "vitest";
import { serverWith } from "../support/realm.js";
import { MapStorage, openGuard, settled, uniqueNamespace, type OpenedGuard, type Package } from "../support/node.js";
import { newTrappingPage, withTrap } from "./trapping.js";

/** Opens a guard of a page. */
function open(page: Package, namespace: string, storage = new MapStorage()): Promise<OpenedGuard> {
  return openGuard({ namespace, storage }, page);
}

/** Waits until a guard has a new engine with the stored data. */
async function isAlive(guard: SeenGuard): Promise<void> {
  await expect.poll(() => guard.stats().engine).toBe("wasm");
  await guard.flush();
}

/** Makes the new engine trap, too. */
async function trapTwice({ guard }: OpenedGuard): Promise<void> {
  expect(guard.explain("a")).toEqual({ seen: false });
  await isAlive(guard);
  expect(guard.explain("a")).toEqual({ seen: false });
}

describe("after a trap", () => {
  test("every guard of that document lets everything pass, throws nothing, and reports it once", async () => {
    const page = newTrappingPage();
    const [mine, other] = [await open(page, uniqueNamespace()), await open(page, uniqueNamespace())];
    for (const { guard } of [mine, other]) {
      guard.record(["a", "b"]);
      expect(guard.filter(["a", "c"])).toEqual(["c"]);
      expect(guard.stats().engine).toBe("wasm");
    }
    const feed = mine.guard.feed();
    expect(feed.filter(["a", "c"])).toEqual(["c"]);
    await mine.guard.flush();
    await trapTwice(mine);
    for (let again = 0; again < 3; again++) {
      for (const { guard, codes } of [mine, other]) {
        expect(guard.filter(["a", "a", "c", {} as never])).toEqual(["a", "c", {}]);
        expect(guard.explain("a")).toEqual({ seen: false });
        expect(guard.record(["d"])).toBe(0);
        expect(guard.apply({ shards: [] })).toMatchObject({ applied: false, reason: "no-engine" });
        expect(guard.pending()).toEqual([]);
        expect(guard.headers()).toEqual({});
        expect(guard.stats()).toMatchObject({ engine: "none", version: undefined, pending: 0, remembered: 0 });
        expect(guard.feed().admit(["a", "c"])).toEqual(["a", "c"]);
        await guard.flush();
        expect(codes()).toEqual(["engine", "engine"]);
      }
    }
    expect(mine.errors[0]?.message).toMatch(/unreachable/);
    // A feed's earlier verdicts stay.
    expect(feed.filter(["a", "c", "d"])).toEqual(["c", "d"]);
    for (const { guard } of [mine, other]) await guard.close();
  });

  test("i5: a new engine replaces it once, for every guard, and loads the stored data", async () => {
    const page = newTrappingPage();
    const [mine, other] = [await open(page, uniqueNamespace()), await open(page, uniqueNamespace())];
    for (const { guard } of [mine, other]) {
      guard.record(["a", "b"]);
      await guard.flush();
      guard.record("not stored yet");
    }
    mine.guard.explain("a");
    for (const { guard, codes } of [mine, other]) {
      // Until it is there, everything passes.
      expect(guard.filter(["a", "c"])).toEqual(["a", "c"]);
      expect(codes()).toEqual(["engine"]);
    }
    for (const { guard, codes } of [mine, other]) {
      await isAlive(guard);
      expect(guard.filter(["a", "b", "c"])).toEqual(["c"]);
      expect(guard.pending().slice(0, 2)).toEqual(["a", "b"]);
      expect(guard.record("d")).toBe(1);
      await guard.flush();
      expect(guard.filter(["a", "d", "e"])).toEqual(["e"]);
      expect(guard.apply({ shards: [] })).toMatchObject({ applied: true });
      expect(codes()).toEqual(["engine"]);
      await guard.close();
    }
  });

  test("i5: another `open` in the same document works; after the second trap it lets everything pass and reports the reason", async () => {
    const [page, namespace, storage] = [newTrappingPage(), uniqueNamespace(), new MapStorage()];
    const old = await open(page, namespace, storage);
    old.guard.record("a");
    await old.guard.flush();
    old.guard.explain("a");
    const meanwhile = await open(page, namespace, storage);
    expect(meanwhile.guard.filter(["a", "b"])).toEqual(["b"]);
    expect(meanwhile.codes()).toEqual([]);
    old.guard.explain("a");
    expect(meanwhile.codes()).toEqual(["engine"]);
    for (let again = 0; again < 2; again++) {
      const { guard, codes } = await open(page, namespace, storage);
      expect(codes()).toEqual(["engine"]);
      expect(guard.filter(["a", "b"])).toEqual(["a", "b"]);
      expect(guard.stats().engine).toBe("none");
      await guard.close();
    }
    // Signing out works nonetheless.
    await page.SeenGuard.clear(namespace, storage);
    // Its key has the generation.
    expect([...storage.values.values()]).toEqual([""]);
  });

  test("a guard that is closed before the new engine is loaded makes no more calls of the storage", async () => {
    const storage = new MapStorage();
    const { guard } = await open(newTrappingPage(), uniqueNamespace(), storage);
    guard.record("a");
    await guard.flush();
    guard.explain("a");
    await guard.close();
    const operations: string[] = [];
    storage.before = (operation) => operations.push(operation);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(operations).toEqual([]);
  });

  test("a report continues with the new engine, and after the second trap in the next document", async () => {
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const sent: string[][] = [];
    const send = ({ impressions }: Report) => {
      sent.push(impressions.map(({ id }) => id));
      return Promise.resolve();
    };
    const old = await open(newTrappingPage(), namespace, storage);
    old.guard.report({ url: "/", send, intervalMs: 20 });
    old.guard.record(["a"]);
    await old.guard.flush();
    old.guard.explain("a");
    await expect.poll(() => sent).toEqual([["a"]]);
    old.guard.record(["b"]);
    await old.guard.flush();
    old.guard.explain("a");
    const { guard } = await open(newTrappingPage(), namespace, storage);
    guard.report({ url: "/", send, intervalMs: 20 });
    await expect.poll(() => sent).toEqual([["a"], ["b"]]);
  });

  test("a refusal from before it does not affect a batch of the new engine", async () => {
    const sent: string[] = [];
    const send = ({ impressions }: Report) => {
      const ids = impressions.map(({ id }) => id);
      sent.push(...ids);
      // By then the new engine has loaded.
      const headers = { "retry-after": "3" };
      return Promise.resolve(ids.includes("refused") ? { status: 400, headers } : { status: 204 });
    };
    const { guard } = await open(newTrappingPage(), uniqueNamespace());
    guard.report({ send, intervalMs: 20 });
    guard.record("refused");
    await expect.poll(() => sent).toEqual(["refused"]);
    guard.explain("a");
    guard.record("accepted");
    await expect.poll(() => sent).toContain("accepted");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(sent.filter((id) => id === "accepted")).toHaveLength(1);
  });

  test("no object of the old module is freed, which would trap again", async () => {
    const uncaught: unknown[] = [];
    const onUncaught = (error: unknown) => uncaught.push(error);
    process.on("uncaughtException", onUncaught);
    onTestFinished(() => void process.off("uncaughtException", onUncaught));
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const page = newTrappingPage();
    await trapAndLeave(page);
    for (let again = 0; again < 5; again++) {
      collect();
      await settled();
    }
    expect(uncaught).toEqual([]);
    expect(page.SeenGuard).toBeDefined();
  });
});

test("after a trap on a server, all functions of both its entries throw, except `free`", async () => {
  const { NearDuplicates, ShardChain, simhash } = serverWith((wasm) => withTrap(wasm, "nearduplicates_groupOf"));
  const near = await NearDuplicates.create();
  const chain = await ShardChain.create();
  const fingerprint = simhash(["a"]);
  const trap = expect.objectContaining({ code: "engine" }) as Error;
  for (let again = 0; again < 2; again++) {
    expect(() => near.groupOf(fingerprint, "a")).toThrow(trap);
    expect(() => simhash(["a"])).toThrow(trap);
    expect(() => chain.record("a")).toThrow(trap);
    await expect(NearDuplicates.create()).rejects.toMatchObject({ code: "engine" });
  }
  near.free();
  chain.free();
});

test("after a trap on a server, only calls of stores that are in progress may be retried", async () => {
  const { memoryBackend, seenStore } = serverWith((wasm) => withTrap(wasm, "storecalls_changed"));
  const inner = memoryBackend();
  let load: () => void = () => undefined;
  const loading = new Promise<void>((resolve) => (load = resolve));
  const store = seenStore({
    load: async (user, list) => (user === "slow" ? loading : Promise.resolve()).then(() => inner.load(user, list)),
    storePending: (...given) => inner.storePending(...given),
    replace: (...given) => inner.replace(...given),
    forget: (...given) => inner.forget(...given),
  });
  const change = store.forget("slow");
  const page = store.page("slow", ["a"], { size: 1 });
  await settled();
  await expect(store.update("ada", (chain) => chain.record("a"))).rejects.toMatchObject({ code: "storage" });
  load();
  await expect(change).rejects.toMatchObject({ code: "storage" });
  await expect(page).rejects.toMatchObject({ code: "storage" });
  await expect(store.forget("ada")).rejects.toMatchObject({ code: "engine" });
});

/** Opens a guard that traps, and drops all references to it. */
async function trapAndLeave(page: Package): Promise<void> {
  const { guard } = await open(page, uniqueNamespace());
  guard.record("a");
  guard.explain("a");
  await guard.close();
}
