/** Snapshots as they come: from replicas of different age, of rebuilt chains, expiring, emptied, repeated. */
import type { Snapshot } from "seenguard";
import { ShardChain } from "seenguard/server";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  DAY_MS,
  DAY_SECONDS,
  heldBy,
  idsOf,
  NOW,
  openGuard,
  Random,
  shardText,
  shippedSnapshot,
} from "../node/support.js";

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
          if (!report.applied) expect(report).toMatchObject({ reason: "older-version", covered: 0 });
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

  test("that send a version one time and none the other are taken as they come", async () => {
    const [old, recent] = await statesOf(["a", "b"]);
    const { guard } = await openGuard();
    guard.apply(recent);
    expect(guard.apply({ shards: old?.shards ?? [] })).toMatchObject({ applied: true });
    expect(guard.stats().version).toBeUndefined();
    expect(guard.filter(["a", "b"])).toEqual(["b"]);
    expect(guard.apply(old)).toMatchObject({ applied: true });
    expect(guard.apply(recent)).toMatchObject({ applied: true });
    expect(guard.filter(["a", "b"])).toEqual([]);
  });
});

describe("a chain that was rebuilt", () => {
  test("with other parameters and another seed is applied as a whole, and covers pending impressions", async () => {
    const { guard } = await openGuard();
    const ids = idsOf("old", 50);
    guard.apply(await shippedSnapshot(ids, { capacity: 10, shards: 8 }));
    guard.record(["mine", "not yet"]);
    const rebuilt = await shippedSnapshot(
      [...ids, "mine"],
      { capacity: 500, falsePositiveRate: 0.0001, seed: 42n },
      NOW + 60,
    );
    expect(guard.apply(rebuilt)).toEqual({ applied: true, covered: 1 });
    expect(guard.filter([...ids, "mine", "not yet", "new"])).toEqual(["new"]);
    expect(guard.pending()).toEqual(["not yet"]);
  });

  test("i1: and holds fewer ids than before lets those pass, but none that was shown here", async () => {
    const { guard } = await openGuard();
    guard.apply(await shippedSnapshot(["shown elsewhere", "shown here"]));
    guard.record("shown here");
    guard.apply(await shippedSnapshot(["other"], {}, NOW + 60));
    expect(guard.filter(["shown elsewhere", "shown here", "other"])).toEqual(["shown elsewhere"]);
  });

  test("whose shards have parameters of their own each answers with every one of them", async () => {
    const { guard } = await openGuard();
    const random = new Random(7);
    const options = Array.from({ length: 24 }, (_, index) => ({
      capacity: 1 + random.below(400),
      falsePositiveRate: 10 ** -(2 + random.below(4)),
      seed: BigInt(index % 3),
    }));
    const shards = await Promise.all(options.map((option, index) => shardText([`of shard ${String(index)}`], option)));
    expect(guard.apply({ shards })).toMatchObject({ applied: true });
    for (const [index] of shards.entries()) {
      expect(guard.explain(`of shard ${String(index)}`)).toEqual({ seen: true, by: "server" });
    }
    // Half of them leave, and the others are held still.
    const half = shards.filter((_, index) => index % 2 === 0);
    expect(guard.apply({ shards: half })).toMatchObject({ applied: true });
    for (const [index] of shards.entries())
      expect(guard.explain(`of shard ${String(index)}`).seen).toBe(index % 2 === 0);
  });
});

describe("a snapshot that changes little", () => {
  test("or not at all, regardless of the position of a held shard", async () => {
    const { guard } = await openGuard();
    const shards = await Promise.all(idsOf("shard", 64).map((id) => shardText([id, ...idsOf(`${id}-with`, 5)])));
    for (let again = 0; again < 3; again++)
      expect(guard.apply({ version: 1, shards })).toMatchObject({ applied: true });
    const names = heldBy(guard).split(".");
    expect(new Set(names).size).toBe(64);
    const turned = shards.toReversed();
    expect(guard.apply({ version: 2, shards: turned })).toMatchObject({ applied: true });
    expect(heldBy(guard).split(".")).toEqual(names.toReversed());
    const next = [await shardText(["newest"]), ...turned.slice(0, 63)];
    expect(guard.apply({ version: 3, shards: next })).toMatchObject({ applied: true });
    expect(guard.filter(["newest", "shard-63", "shard-0"])).toEqual(["shard-0"]);
  });

  test("is all there is to read: a held shard is one whose text is the same, and not one that looks like it", async () => {
    const { guard } = await openGuard();
    const text = await shardText(["a"]);
    guard.apply({ shards: [text] });
    expect(guard.apply({ shards: [text, text] })).toMatchObject({ applied: true });
    const damaged = `${text.slice(0, 60)}${text[60] === "A" ? "B" : "A"}${text.slice(61)}`;
    expect(guard.apply({ shards: [damaged] })).toMatchObject({ applied: false, reason: "invalid" });
    expect(guard.filter(["a", "b"])).toEqual(["b"]);
  });

  test("without its oldest shard lets ids pass that only this shard held and nobody saw here", async () => {
    const { guard } = await openGuard();
    const chain = await ShardChain.create({ capacity: 10, shards: 3 });
    onTestFinished(() => chain.free());
    const ids = idsOf("id", 60);
    for (const [index, id] of ids.entries()) {
      chain.record(id, { now: NOW });
      if (index % 2 === 0) guard.record(id);
      expect(guard.apply(chain.snapshot({ now: NOW }))).toMatchObject({ applied: true });
      expect(guard.explain(id).seen).toBe(true);
    }
    const passed = guard.filter(ids);
    expect(passed.length).toBeGreaterThan(10);
    expect(passed.every((id) => Number(id.slice(3)) % 2 === 1 && !chain.has(id, { now: NOW }))).toBe(true);
  });

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
    test(`are believed by the next snapshot when the device's clock jumps by ${String(daysOff)} days`, async () => {
      vi.setSystemTime(NOW * 1000);
      const { guard } = await openGuard();
      const snapshot = await shippedSnapshot(["a"], { shards: 1, ttlSeconds: DAY_SECONDS });
      guard.apply({ ...snapshot, now: NOW });
      vi.setSystemTime((NOW + daysOff * DAY_SECONDS) * 1000);
      expect(guard.filter(["a"])).toEqual(daysOff > 0 ? ["a"] : []);
      guard.apply({ ...snapshot, now: NOW });
      expect(guard.filter(["a"])).toEqual([]);
    });
  }

  test("do so by this device's clock if the snapshot has no time, and come back with it", async () => {
    vi.setSystemTime(NOW * 1000);
    const { guard } = await openGuard();
    const snapshot = await shippedSnapshot(["a"], { shards: 1, ttlSeconds: DAY_SECONDS });
    delete snapshot.now;
    guard.apply(snapshot);
    expect(guard.filter(["a"])).toEqual([]);
    vi.setSystemTime((NOW + 2 * DAY_SECONDS) * 1000);
    expect(guard.filter(["a"])).toEqual(["a"]);
    vi.setSystemTime(NOW * 1000);
    expect(guard.filter(["a"])).toEqual([]);
  });
});
