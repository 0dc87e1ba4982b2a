/** What `watch` tells of each call that decided items. */
import { SeenGuard, type Decision } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { openGuard, openPage, shippedSnapshot, uniqueNamespace } from "./support.js";

/** A guard that has seen "a", and what its watcher was told. */
async function watched() {
  const { guard } = await openGuard();
  guard.record("a");
  const decisions: Decision[] = [];
  const stop = guard.watch((decision) => decisions.push(decision));
  return { guard, decisions, stop };
}

describe("watch", () => {
  test("tells of each call of filter and split how many items it decided, and which it stopped, and why", async () => {
    const { guard, decisions } = await watched();
    guard.apply(await shippedSnapshot(["b"]));
    guard.filter(["a", "b", "c", "c"]);
    guard.split([{ id: 1 }, { id: "a" }]);
    await Promise.resolve();
    const at = expect.any(Date) as Date;
    const a = { ids: ["a"], id: "a", why: { seen: true, by: "pending", at } };
    const b = { ids: ["b"], id: "b", why: { seen: true, by: "server", shard: 0, epoch: expect.any(Number) as number } };
    const c = { ids: ["c"], id: "c", why: { seen: false } };
    expect(decisions).toEqual([
      { items: 4, stopped: [a, b, c] },
      { items: 2, stopped: [a] },
    ]);
  });

  test("tells the reason that held then, whatever the caller does next", async () => {
    const { guard, decisions } = await watched();
    guard.filter(["a"]);
    guard.unsee("a");
    await Promise.resolve();
    expect(decisions[0]?.stopped[0]?.why).toMatchObject({ seen: true, by: "pending" });
  });

  test("names all ids of an item and the one that was seen, and does not count items without any", async () => {
    const { guard, decisions } = await watched();
    guard.filter([["x", "a"], [], [2, 3n]], (ids: (string | number | bigint)[]) => ids);
    guard.filter([undefined, {}], () => null);
    await Promise.resolve();
    expect(decisions).toMatchObject([{ items: 2, stopped: [{ ids: ["x", "a"], id: "a" }] }]);
  });

  test("tells of what a feed decides once, however often the list is rendered", async () => {
    const { guard, decisions } = await watched();
    const feed = guard.feed();
    for (let render = 0; render < 3; render++) feed.filter(["a", "b"]);
    feed.filter(["a", "b", "c"]);
    await Promise.resolve();
    expect(decisions).toMatchObject([
      { items: 2, stopped: [{ id: "a" }] },
      { items: 1, stopped: [] },
    ]);
  });

  test("tells after the caller has its answer, and a listener that filters or throws changes nothing", async () => {
    const { guard } = await openGuard();
    guard.record("a");
    const uncaught = vi.fn();
    process.once("uncaughtException", uncaught);
    let depth = 0;
    const told: number[] = [];
    guard.watch(({ items }) => {
      told.push(items);
      if (depth++ === 0) guard.filter(["a"]);
      else throw new Error("of the listener");
    });
    expect(guard.filter(["a", "b"])).toEqual(["b"]);
    expect(told).toEqual([]);
    await vi.waitFor(() => expect(uncaught).toHaveBeenCalledOnce());
    expect(told).toEqual([2, 1]);
  });

  test("tells nothing where there is no engine, since nothing was decided", async () => {
    const { guard } = await openGuard({}, openPage("delete globalThis.WebAssembly").seenguard);
    const told = vi.fn();
    guard.watch(told);
    expect(guard.filter(["a", "b"])).toEqual(["a", "b"]);
    await new Promise(setImmediate);
    expect(told).not.toHaveBeenCalled();
  });

  test("tells every watcher of the namespace, until it stops or its guard is closed", async () => {
    const namespace = uniqueNamespace();
    const { guard } = await openGuard({ namespace });
    const other = await SeenGuard.open({ namespace, storage: "none" });
    const told: string[] = [];
    const listener = (name: string) => () => told.push(name);
    const stop = guard.watch(listener("first"));
    guard.watch(listener("second"));
    other.watch(listener("other"));
    other.filter(["a"]);
    await Promise.resolve();
    expect(told.splice(0)).toEqual(["first", "second", "other"]);
    stop();
    await other.close();
    guard.filter(["a"]);
    await Promise.resolve();
    expect(told).toEqual(["second"]);
    expect(other.watch(listener("closed"))).toBeTypeOf("function");
  });
});
