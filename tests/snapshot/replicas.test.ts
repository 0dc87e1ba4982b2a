/** Snapshots as they come: from replicas of different age, of rebuilt chains, expiring, emptied, repeated. */
import type { Snapshot } from "seenguard";
import { ShardChain } from "seenguard/server";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { DAY_MS, DAY_SECONDS, idsOf, NOW, openGuard, Random, shippedSnapshot } from "../support/node.js";

/** What the replicas of one chain hold that records `ids` one after the other: the state after each. */
async function statesOf(ids: readonly string[]): Promise<Required<Pick<Snapshot, "version" | "shards">>[]> {
  const chain = await ShardChain.create({ capacity: 20 });
  onTestFinished(() => chain.free());
  const states = [];
  for (const id of ids) {
    chain.record(id, { now: NOW });
    const { version = 0, shards } = chain.snapshot({ now: NOW });
    states.push({ version, shards });
  }
  return states;
}

describe("replicas of different age", () => {
  for (const withVersion of [true, false]) {
    for (const seed of [1, 2, 3, 4, 5]) {
      test(`i1: in any order ${withVersion ? "with" : "without"} a version bring nothing back that was shown: seed ${String(seed)}`, async () => {
        const random = new Random(seed);
        const shown = idsOf("shown", 120);
        const states = await statesOf(shown);
        const { guard, errors } = await openGuard();
        const recorded: string[] = [];
        let [known, newest] = [0, -1];
        while (recorded.length < shown.length) {
          recorded.push(...shown.slice(recorded.length, recorded.length + 1 + random.below(5)));
          guard.record(recorded.slice(-5));
          // The stream lags by up to 20 impressions, and each of three replicas by up to 20 more.
          known = Math.max(known, recorded.length - random.below(20));
          const state = states[Math.max(0, known - 1 - random.below(20))];
          if (state === undefined) continue;
          const report = guard.apply(withVersion ? state : { shards: state.shards });
          expect(report.applied).toBe(!withVersion || state.version >= newest);
          if (!report.applied) expect(report).toMatchObject({ reason: "older-version" });
          if (report.applied) newest = state.version;
          expect(guard.stats().version).toBe(withVersion ? newest : undefined);
          expect(guard.filter([...recorded])).toEqual([]);
          // What is pending is of what was recorded last, in that order, and nothing becomes pending again.
          const pending = guard.pending();
          expect(recorded.filter((id) => pending.includes(id))).toEqual(pending);
        }
        const last = states.at(-1);
        guard.apply(withVersion ? last : { shards: last?.shards ?? [] });
        expect(guard.pending()).toEqual([]);
        // An old replica once more, now that nothing is pending.
        guard.apply(withVersion ? states[0] : { shards: states[0]?.shards ?? [] });
        expect(guard.pending()).toEqual([]);
        expect(guard.filter(shown)).toEqual([]);
        expect(errors).toEqual([]);
      });
    }
  }
});

describe("a chain that was rebuilt", () => {
  test("i1: and holds fewer ids than before lets those pass, but none that was shown here", async () => {
    const { guard } = await openGuard();
    guard.apply(await shippedSnapshot(["shown elsewhere", "shown here"]));
    guard.record("shown here");
    guard.apply(await shippedSnapshot(["other"], {}, NOW + 60));
    expect(guard.filter(["shown elsewhere", "shown here", "other"])).toEqual(["shown elsewhere"]);
  });
});

describe("a snapshot that changes little", () => {
  test("i1: without shards stops only ids that were shown here", async () => {
    const { guard } = await openGuard();
    guard.apply(await shippedSnapshot(idsOf("elsewhere", 20)));
    guard.record(["covered", "not covered"]);
    guard.apply(await shippedSnapshot([...idsOf("elsewhere", 20), "covered"], {}, NOW + 1));
    for (const empty of [{ version: guard.stats().version ?? 0, shards: [] }, { shards: [] }]) {
      expect(guard.apply(empty)).toEqual({ applied: true, covered: 0 });
      expect(guard.stats()).toMatchObject({ serverFalsePositiveRate: 0, pending: 1 });
      expect(guard.filter([...idsOf("elsewhere", 2), "covered", "not covered"])).toEqual(idsOf("elsewhere", 2));
    }
    expect(guard.apply(await shippedSnapshot(["not covered"]))).toMatchObject({ covered: 1 });
  });
});

describe("shards that expire while the page is open", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  for (const daysOff of [-400, -10, 0, 10, 400]) {
    test(`i2: do so by the server's clock, on a device whose clock is ${String(daysOff)} days off`, async () => {
      vi.setSystemTime((NOW + daysOff * DAY_SECONDS) * 1000);
      const { guard } = await openGuard();
      // One shard: kept for two days.
      const snapshot = await shippedSnapshot(["a"], { shards: 1, ttlSeconds: DAY_SECONDS });
      expect(guard.apply({ ...snapshot, now: NOW })).toMatchObject({ applied: true });
      guard.record("shown here");
      vi.advanceTimersByTime(2 * DAY_MS - 1000);
      expect(guard.filter(["a", "shown here"])).toEqual([]);
      expect(guard.explain("a")).toMatchObject({ by: "server" });
      vi.advanceTimersByTime(1000);
      expect(guard.filter(["a", "shown here"])).toEqual(["a"]);
      expect(guard.stats().serverFalsePositiveRate).toBe(0);
      expect(guard.apply({ ...snapshot, now: NOW + 2 * DAY_SECONDS })).toMatchObject({ applied: true });
      expect(guard.filter(["a", "shown here"])).toEqual(["a"]);
    });

    if (daysOff === 0) continue;
  }
});
