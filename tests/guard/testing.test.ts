/** `seenguard/testing`: a real guard with a clock of the test. */
import { SeenGuard, type Impression } from "seenguard";
import { openTestGuard } from "seenguard/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { DAY_MS, MapStorage, NOW, shippedSnapshot, uniqueNamespace } from "../support/node.js";

const MINUTE_MS = 60_000;
const now = NOW * 1000;

/** Opens a test guard that is closed when the test is over. */
async function openForTest(options?: Parameters<typeof openTestGuard>[0]) {
  const guard = await openTestGuard({ now, ...options });
  onTestFinished(() => guard.close());
  return guard;
}

test("it is a real guard without a storage", async () => {
  const guard = await openForTest();
  expect(guard).toBeInstanceOf(SeenGuard);
  expect(guard.stats()).toMatchObject({ engine: "wasm", storage: "none" });
  guard.record("a");
  expect(guard.filter(["a", "b"])).toEqual(["b"]);
  expect(guard.apply(await shippedSnapshot(["b"])).applied).toBe(true);
  expect(guard.filter(["a", "b", "c"])).toEqual(["c"]);
});

test("its time stands still until `advance`", async () => {
  const guard = await openForTest({ windowDays: 7 });
  guard.record("a");
  await new Promise((resolve) => setTimeout(resolve, 5));
  guard.record("b");
  expect(["a", "b"].map((id) => guard.explain(id))).toEqual(
    ["a", "b"].map(() => ({ seen: true, by: "pending", at: new Date(now) })),
  );
  guard.advance(7 * DAY_MS - 1);
  expect(guard.explain("a").seen).toBe(true);
  guard.advance(1);
  expect(guard.explain("a").seen).toBe(false);
  guard.record("a");
  expect(guard.explain("a")).toMatchObject({ at: new Date(now + 7 * DAY_MS) });
});

test("by default it begins at this device's time", async () => {
  const before = Date.now();
  const guard = await openTestGuard();
  onTestFinished(() => guard.close());
  guard.record("a");
  const { at } = guard.explain("a") as { at: Date };
  expect(at.getTime()).toBeGreaterThanOrEqual(before);
  expect(at.getTime()).toBeLessThanOrEqual(Date.now());
});

test("it delivers when its time comes, and repeats an impression that the stream has lost", async () => {
  const guard = await openForTest();
  const delivered: Impression[][] = [];
  guard.report({
    url: "/impressions",
    send: ({ impressions }) => {
      delivered.push([...impressions]);
      return Promise.resolve();
    },
  });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 20));
  const deliver = async (ids: string[], ms = 5_000) => {
    guard.record(ids);
    guard.advance(ms);
    await settle();
    return delivered
      .splice(0)
      .flat()
      .map(({ id }) => id);
  };
  guard.record("lost");
  guard.advance(999);
  expect(delivered).toEqual([]);
  guard.advance(1);
  expect(delivered).toEqual([[{ id: "lost", at: now }]]);
  await settle();
  delivered.length = 0;
  expect(await deliver(["a", "b", "c"])).toEqual(["a", "b", "c"]);
  guard.apply(await shippedSnapshot(["a", "b", "c"]));
  expect(await deliver([])).toEqual([]);
  expect(await deliver([], 23 * 60 * MINUTE_MS)).toEqual([]);
  expect(await deliver([], 7 * 60 * MINUTE_MS)).toEqual(["lost"]);
  expect(await deliver([], 70 * 60 * MINUTE_MS)).toEqual([]);
});

describe("a namespace of its own", () => {
  test("is given to each test guard without one", async () => {
    const [guard, other] = [await openForTest(), await openForTest()];
    guard.record("a");
    guard.feed({ key: "list" }).filter(["a"]);
    expect(other.explain("a").seen).toBe(false);
    expect(other.feed({ key: "list" }).filter(["a"])).toEqual(["a"]);
  });

  test("is shared with an app that opens it with other options, which is not reported", async () => {
    const namespace = uniqueNamespace();
    const guard = await openForTest({ namespace });
    const codes: string[] = [];
    const ofApp = await SeenGuard.open({
      namespace,
      storage: "indexeddb",
      windowDays: 7,
      onError: ({ code }) => codes.push(code),
    });
    onTestFinished(() => ofApp.close());
    guard.record("a");
    expect(ofApp.explain("a").seen).toBe(true);
    guard.advance(31 * DAY_MS);
    expect(ofApp.explain("a").seen).toBe(false);
    expect(codes).toEqual([]);
  });

  test("is refused while a guard with another clock is open", async () => {
    const namespace = uniqueNamespace();
    const guard = await openForTest({ namespace });
    await expect(openTestGuard({ namespace })).rejects.toMatchObject({ code: "already-open" });
    expect(guard.record("a")).toBe(1);
    await guard.close();
    const next = await openForTest({ namespace });
    expect(next.explain("a").seen).toBe(false);
  });
});

test("a storage option is used, with the guard's clock", async () => {
  const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
  const first = await openForTest({ storage, namespace });
  first.record("a");
  await first.close();
  const later = await openForTest({ storage, namespace, now: now + 29 * DAY_MS });
  expect(later.explain("a").seen).toBe(true);
  later.advance(2 * DAY_MS);
  expect(later.explain("a").seen).toBe(false);
});

test("wrong options are refused", async () => {
  const options = [{ now: NaN }, { now: "today" as unknown as number }, { windowDays: -1 }, { windowDay: 1 }];
  for (const each of options) await expect(openTestGuard(each)).rejects.toMatchObject({ code: "bad-option" });
  const guard = await openForTest();
  for (const ms of [-1, NaN, Infinity]) expect(() => guard.advance(ms)).toThrow("advance takes");
});

test("no time is later than the latest of Date", async () => {
  const refusal = expect.objectContaining({ code: "bad-option" }) as Error;
  await expect(openTestGuard({ now: 8.64e15 + 1 })).rejects.toEqual(refusal);
  const guard = await openForTest();
  expect(() => guard.advance(8.64e15)).toThrow(refusal);
  guard.record("a");
  expect(guard.filter(["a", "b"])).toEqual(["b"]);
});
