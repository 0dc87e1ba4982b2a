/**
 * Time: impressions expire by this device's clock, which may jump; a server's shards by the server's clock.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  ENGINE,
  DAY_MS,
  MapStorage,
  NOW,
  openGuard,
  settled,
  shippedSnapshot,
  uniqueNamespace,
} from "../support/node.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1000 });
  // As for documents opened one after the other, each with the time of its opening.
  vi.spyOn(performance, "timeOrigin", "get").mockImplementation(() => Date.now() - performance.now());
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const setDay = (day: number) => vi.setSystemTime(NOW * 1000 + day * DAY_MS);

/** Opens, records, closes, on some day. Returns the ids that were not stopped before. */
async function visit(storage: MapStorage, namespace: string, day: number, ids: string[] = [], windowDays = 30) {
  setDay(day);
  const { guard } = await openGuard({ storage, namespace, windowDays });
  const fresh = guard.filter(ids);
  // Long enough for the operations meanwhile.
  await settled();
  await guard.close();
  return fresh;
}

async function record(storage: MapStorage, namespace: string, day: number, ids: string[], windowDays = 30) {
  setDay(day);
  const { guard } = await openGuard({ storage, namespace, windowDays });
  guard.record(ids);
  await settled();
  await guard.close();
}

describe("a clock that jumps", () => {
  for (const away of [-20_000, -4000, -30, -1, 1, 31, 4000, 1_000_000]) {
    test(`i1: by ${String(away)} days and back loses nothing, in a visit or across visits`, async () => {
      const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
      await record(storage, namespace, 0, ["before"]);
      const { guard } = await openGuard({ storage, namespace });
      guard.record("here");
      setDay(away);
      guard.filter(["before", "here"]);
      guard.record("there");
      expect(guard.explain("there").seen).toBe(true);
      setDay(0);
      expect(guard.filter(["before", "here", "new"])).toEqual(["new"]);
      await guard.close();

      await visit(storage, namespace, away, ["before"]);
      await record(storage, namespace, away, ["there too"]);
      expect(await visit(storage, namespace, 0, ["before", "here", "new"])).toEqual(["new"]);
    });
  }

  test("to an invalid time breaks nothing", async () => {
    const { guard, errors } = await openGuard();
    for (const now of [NaN, Infinity, -Infinity, -1, 0, 2 ** 53, 8.64e15]) {
      vi.spyOn(Date, "now").mockReturnValue(now);
      guard.record(`at ${String(now)}`);
      guard.filter(["a"]);
      guard.explain("a");
      guard.stats();
      guard.apply({ shards: [] });
    }
    vi.mocked(Date.now).mockRestore();
    expect(guard.stats().engine).toBe(ENGINE);
    expect(errors).toEqual([]);
  });
});

describe("the lag of an impression", () => {
  test("is passed to onLag once, when a snapshot first covers it, also on a later visit", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const lags: [number, string][] = [];
    const options = { storage, namespace, onLag: (lagMs: number, id: string) => lags.push([lagMs, id]) };
    setDay(0);
    const first = await openGuard(options);
    first.guard.record("a");
    vi.setSystemTime(NOW * 1000 + 1_000);
    first.guard.record("b");
    vi.setSystemTime(NOW * 1000 + 60_000);
    first.guard.apply(await shippedSnapshot(["a"]));
    expect(lags).toEqual([[60_000, "a"]]);
    // That it is covered is written with the next change.
    first.guard.record("c");
    await first.guard.close();
    setDay(1);
    const { guard } = await openGuard(options);
    guard.apply(await shippedSnapshot(["a", "b"]));
    guard.apply(await shippedSnapshot(["a", "b"]));
    expect(lags.slice(1)).toEqual([[DAY_MS - 1_000, "b"]]);
  });
});
