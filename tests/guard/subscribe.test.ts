/** `subscribe`: when and how often subscribers are notified that a list on the screen may have changed. */
import { SeenGuard } from "seenguard";
import { openTestGuard } from "seenguard/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { MapStorage, newPage, openGuard, settled, uniqueNamespace } from "../support/node.js";
import { pass, useFakeTimers } from "../support/clocks.js";

async function subscribed() {
  const namespace = uniqueNamespace();
  const guard = await openTestGuard({ namespace });
  onTestFinished(() => guard.close());
  guard.record(["a", "b"]);
  guard.advance(5_000);
  const listener = vi.fn();
  const stop = guard.subscribe(listener);
  return { guard, namespace, listener, stop };
}

type Subscribed = Awaited<ReturnType<typeof subscribed>>;

const seconds = () => Math.floor(Date.now() / 1000);

describe("a subscriber is called", () => {
  const ways: [string, (subscribed: Subscribed) => unknown][] = [
    ["after unsee", ({ guard }) => guard.unsee("a")],
    ["after a clear", ({ namespace }) => SeenGuard.clear(namespace)],
    ["after close", ({ guard }) => guard.close()],
    [
      "after the server's unseen",
      ({ guard }) => guard.apply({ shards: [], unseen: [{ id: "a", at: Date.now() + 2_000 }] }),
    ],
    ["after the server's deletion", ({ guard }) => guard.apply({ shards: [], forgetBefore: seconds() + 2 })],
  ];
  test.each(ways)("%s, in a microtask, without arguments", async (_, change) => {
    const opened = await subscribed();
    const { listener } = opened;
    const changed = change(opened);
    expect(listener).not.toHaveBeenCalled();
    await Promise.resolve();
    expect(listener.mock.calls).toEqual([[]]);
    await changed;
  });

  test("once for all that happens in a task", async () => {
    const { guard, listener } = await subscribed();
    guard.unsee("a");
    guard.unsee("b");
    void guard.close();
    await settled();
    expect(listener).toHaveBeenCalledTimes(1);
  });

  test("for changes by another handle of the namespace, except its close", async () => {
    const { guard, namespace, listener } = await subscribed();
    const other = await SeenGuard.open({ namespace, storage: "none" });
    await other.close();
    await settled();
    expect(listener).not.toHaveBeenCalled();
    const another = await SeenGuard.open({ namespace, storage: "none" });
    another.unsee("a");
    await settled();
    expect(listener).toHaveBeenCalledTimes(1);
    expect(guard.filter(["a"])).toEqual(["a"]);
    await another.close();
  });
});

describe("a subscriber is not called", () => {
  test("for calls that make no id unseen", async () => {
    const { guard, listener } = await subscribed();
    guard.record("c");
    guard.record("d", { local: true });
    guard.filter(["a"]);
    guard.apply({ shards: [] });
    guard.feed().reset();
    await settled();
    expect(listener).not.toHaveBeenCalled();
  });

  test("after its unsubscribe, nor after close", async () => {
    const { guard, listener, stop } = await subscribed();
    const twice = vi.fn();
    const [first] = [guard.subscribe(twice), guard.subscribe(twice)];
    stop();
    first();
    first();
    guard.unsee("a");
    await settled();
    expect([listener.mock.calls.length, twice.mock.calls.length]).toEqual([0, 1]);
    await guard.close();
    guard.subscribe(listener);
    await guard.close();
    await settled();
    expect([listener.mock.calls.length, twice.mock.calls.length]).toEqual([0, 2]);
  });
});

describe("another tab", () => {
  useFakeTimers();

  test("notifies subscribers when it makes an id unseen, and not when it records", async () => {
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const { guard } = await openGuard({ namespace, storage });
    const { guard: other } = await openGuard({ namespace, storage }, newPage());
    const listener = vi.fn();
    guard.subscribe(listener);
    other.record("a");
    await other.flush();
    await pass(20_000);
    expect(guard.filter(["a"])).toEqual([]);
    expect(listener).not.toHaveBeenCalled();
    other.unsee("a");
    await other.flush();
    await pass(20_000);
    expect(guard.filter(["a"])).toEqual(["a"]);
    expect(listener).toHaveBeenCalledTimes(1);
  });
});
