/** The events of a guard for its tools: each decision of items, and each applied snapshot. */
import { SeenGuard } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { HOOK, type HookedGuard, type Tool } from "../../js/guard/tools.js";
import { follow, heldBy, openGuard, openPage, shardText, shippedSnapshot, uniqueNamespace } from "../support/node.js";

/** A guard that has recorded "a", and the events that its tool receives. */
async function followed() {
  const { guard } = await openGuard();
  guard.record("a");
  return { guard, ...follow(guard) };
}

/** Reports each decision to a tool. Returns stop. */
function listen(guard: SeenGuard, decided: Tool["decided"]): () => void {
  return (guard as object as HookedGuard)[HOOK]({ decided, applied: () => {} });
}

describe("a tool receives decisions", () => {
  test("for each call of filter and split: how many items it decided, which it stopped, and why", async () => {
    const { guard, decisions } = await followed();
    guard.apply(await shippedSnapshot(["b"]));
    guard.filter(["a", "b", "c", "c"]);
    guard.split([{ id: 1 }, { id: "a" }]);
    await Promise.resolve();
    const a = { ids: ["a"], id: "a", why: { seen: true, by: "pending", at: expect.any(Date) as Date } };
    const b = { ids: ["b"], id: "b", why: { seen: true, by: "server" } };
    const c = { ids: ["c"], id: "c", why: { seen: false } };
    expect(decisions).toEqual([
      { items: 4, stopped: [a, b, c] },
      { items: 2, stopped: [a] },
    ]);
  });

  test("with the reason of that time, regardless of later calls", async () => {
    const { guard, decisions } = await followed();
    guard.filter(["a"]);
    guard.unsee("a");
    await Promise.resolve();
    expect(decisions[0]?.stopped[0]?.why).toMatchObject({ seen: true, by: "pending" });
  });

  test("with all ids of an item and the one that was seen, and not of items without any", async () => {
    const { guard, decisions } = await followed();
    guard.filter([["x", "a"], [], [2, 3n]], (ids: (string | number | bigint)[]) => ids);
    guard.filter([undefined, {}], () => null);
    await Promise.resolve();
    expect(decisions).toMatchObject([{ items: 2, stopped: [{ ids: ["x", "a"], id: "a" }] }]);
  });

  test("of a feed once, however often the list is rendered", async () => {
    const { guard, decisions } = await followed();
    const feed = guard.feed();
    for (let render = 0; render < 3; render++) feed.filter(["a", "b"]);
    feed.filter(["a", "b", "c"]);
    await Promise.resolve();
    expect(decisions).toMatchObject([
      { items: 2, stopped: [{ id: "a" }] },
      { items: 1, stopped: [] },
    ]);
  });

  test("only with an engine: without one nothing is decided", async () => {
    const { guard } = await openGuard({}, openPage("delete globalThis.WebAssembly").seenguard);
    const { decisions } = follow(guard);
    expect(guard.filter(["a", "b"])).toEqual(["a", "b"]);
    await new Promise(setImmediate);
    expect(decisions).toEqual([]);
  });
});

test("a tool receives the shards and the lags of each applied snapshot, and of no other", async () => {
  const { guard, snapshots } = await followed();
  const [first, second] = [await shardText(["a"]), await shardText(["b"])];
  guard.apply({ version: 2, shards: [first] });
  const reference = `~${heldBy(guard)}`;
  guard.apply({ version: 2, shards: [second, reference] });
  guard.apply({ version: 1, shards: [] });
  guard.apply({ shards: ["!"] });
  guard.apply(null);
  await Promise.resolve();
  expect(snapshots).toEqual([
    { shards: [first], lagsMs: [expect.any(Number)] },
    { shards: [second, reference], lagsMs: [] },
  ]);
});

test("i5: a tool is called after the caller has its result, and one that throws changes nothing", async () => {
  const { guard } = await openGuard();
  guard.record("a");
  const uncaught = vi.fn();
  process.once("uncaughtException", uncaught);
  const received: number[] = [];
  listen(guard, ({ items }) => {
    received.push(items);
    throw new Error("of the tool");
  });
  expect(guard.filter(["a", "b"])).toEqual(["b"]);
  expect(received).toEqual([]);
  await vi.waitFor(() => expect(uncaught).toHaveBeenCalledOnce());
  expect(received).toEqual([2]);
});

test("i5: a tool that filters in its callback receives only the events of others", async () => {
  const { guard } = await openGuard();
  const received: number[] = [];
  listen(guard, ({ items }) => {
    received.push(items);
    guard.filter(["in", "answer", "to", "it"]);
  });
  guard.filter(["a"]);
  await new Promise(setImmediate);
  expect(received).toEqual([1]);
  guard.filter(["a", "b"]);
  await new Promise(setImmediate);
  expect(received).toEqual([1, 2]);
});

test("tools of two guards that call each other's filter do not loop", async () => {
  const [one, other] = [(await openGuard()).guard, (await openGuard()).guard];
  let received = 0;
  const answer = (guard: SeenGuard) => () => {
    if (++received < 10) guard.filter(["in answer"]);
  };
  listen(one, answer(other));
  listen(other, answer(one));
  one.filter(["a"]);
  await new Promise(setImmediate);
  expect(received).toBe(1);
});

test("every tool of the namespace receives events, until it stops or its guard is closed", async () => {
  const namespace = uniqueNamespace();
  const { guard } = await openGuard({ namespace });
  const other = await SeenGuard.open({ namespace, storage: "none" });
  const received: string[] = [];
  const stop = listen(guard, () => received.push("first"));
  listen(guard, () => received.push("second"));
  listen(other, () => received.push("other"));
  other.filter(["a"]);
  await Promise.resolve();
  expect(received.splice(0)).toEqual(["first", "second", "other"]);
  stop();
  await other.close();
  guard.filter(["a"]);
  await Promise.resolve();
  expect(received).toEqual(["second"]);
  expect(listen(other, () => received.push("closed"))).toBeTypeOf("function");
});
