/** Valid and invalid snapshots: `apply` applies a whole one or nothing, and returns the reason. */
import type { Snapshot } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { rice, shardOf } from "../support/shards.js";
import {
  heldBy,
  idsOf,
  NOW,
  openGuard,
  reasonOf,
  refusalOf,
  shardText,
  shippedSnapshot,
  uniqueNamespace,
} from "../support/node.js";

/** A guard with a snapshot in use and its own impressions, and the state that must not change. */
async function guardInUse() {
  const opened = await openGuard();
  const { guard } = opened;
  const inUse = await shippedSnapshot([...idsOf("old", 1100)]);
  expect(guard.apply(inUse)).toMatchObject({ applied: true });
  guard.record(idsOf("mine", 20));
  const candidates = [...idsOf("old", 1200), ...idsOf("mine", 30)];
  guard.filter(candidates);
  const state = () => ({ held: heldBy(guard), stats: guard.stats(), pending: guard.pending() });
  const before = state();
  const answers = candidates.map((id) => guard.explain(id).seen);
  const expectUnchanged = () => {
    expect(state()).toEqual(before);
    expect(candidates.map((id) => guard.explain(id).seen)).toEqual(answers);
  };
  return { ...opened, inUse, expectUnchanged };
}

/** Applies each of these, and expects that it is refused with its reason, reported once, and changes nothing. */
async function expectRefused(cases: Iterable<readonly [unknown, string]>): Promise<void> {
  const { guard, errors, expectUnchanged } = await guardInUse();
  let refused = 0;
  for (const [snapshot, reason] of cases) {
    const report = refusalOf(guard.apply(snapshot as Snapshot));
    expect(report.reason).toBe("invalid");
    expect(report.error && reasonOf(report.error), `case ${String(refused)}`).toBe(reason);
    refused++;
    expect(errors).toHaveLength(refused);
    expect(errors.at(-1)).toBe(report.error);
  }
  expectUnchanged();
}

describe("an invalid snapshot", () => {
  const forms: readonly (readonly [string, unknown])[] = [
    ["a number", 5],
    ["a string", "U0dTMQ=="],
    ["true", true],
    ["a function", () => ({ shards: [] })],
    ["a symbol", Symbol("snapshot")],
    ["a list of shards", []],
    ["an object without shards", {}],
    ["shards that are null", { shards: null }],
    ["shards that are a string", { shards: "U0dTMQ==" }],
    ["shards that are an array-like", { shards: { length: 1, 0: "" } }],
    ["a shard that is a number", { shards: [7] }],
    ["a shard that is null", { shards: [null] }],
    ["a shard that is a list", { shards: [["U0dTMQ=="]] }],
    ["shards with a hole", { shards: new Array(3) }],
    ["a negative version", { version: -1, shards: [] }],
    ["a fractional version", { version: 1.5, shards: [] }],
    ["a version that is too large", { version: 2 ** 53, shards: [] }],
    ["a version that is infinite", { version: Infinity, shards: [] }],
    ["a version that is NaN", { version: NaN, shards: [] }],
    ["a version that is a string", { version: "1", shards: [] }],
    ["a version that is a bigint", { version: 1n, shards: [] }],
    ["a version that is null", { version: null, shards: [] }],
    ["a time that is a string", { now: "1764000000", shards: [] }],
    ["a negative time", { now: -1, shards: [] }],
    ["a time that is NaN", { now: NaN, shards: [] }],
    ["a time in milliseconds", { now: NOW * 1000, shards: [] }],
    ["an unseen that is not a list", { shards: [], unseen: {} }],
    ["an unseen that is null", { shards: [], unseen: null }],
    ["an unseen of strings", { shards: [], unseen: ["a"] }],
    ["an unseen id that is a number", { shards: [], unseen: [{ id: 7, at: NOW * 1000 }] }],
    ["an unseen id without a time", { shards: [], unseen: [{ id: "a" }] }],
    ["an unseen id at no time", { shards: [], unseen: [{ id: "a", at: NaN }] }],
    ["an unseen id before 1970", { shards: [], unseen: [{ id: "a", at: -1 }] }],
    ["an unseen with holes", { shards: [], unseen: new Array(3) }],
    ["an unseen of 1,001 ids", { shards: [], unseen: idsOf("id", 1_001).map((id) => ({ id, at: NOW * 1000 })) }],
    ["a deletion in milliseconds", { shards: [], forgetBefore: NOW * 1000 }],
    ["a deletion that is a string", { shards: [], forgetBefore: String(NOW) }],
    ["a deletion that is null", { shards: [], forgetBefore: null }],
    ["an unknown format", { format: "zip", shards: [] }],
    ["a format that is null", { format: null, shards: [] }],
  ];
  for (const [what, snapshot] of forms) {
    test(`is refused: ${what}`, () => expectRefused([[snapshot, "bad-snapshot"]]));
  }

  test("i2: is refused when reading it throws", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const throwing = {
      get shards(): string[] {
        throw new Error("not now");
      },
    };
    await expectRefused([
      [throwing, "bad-snapshot"],
      [proxy, "bad-snapshot"],
      [{ shards: proxy }, "bad-snapshot"],
    ]);
  });

  for (const [what, absent] of [
    ["null", null],
    ["undefined", undefined],
  ] as const) {
    test(`is not applied, without an error: ${what}`, async () => {
      const { guard, errors, expectUnchanged } = await guardInUse();
      expect(guard.apply(absent)).toMatchObject({ applied: false, reason: "invalid" });
      expectUnchanged();
      expect(errors).toEqual([]);
    });
  }
});

describe("an invalid shard", () => {
  test("i2: is refused with its reason, at any position among valid shards", async () => {
    const good = await shardText(["a"]);
    const large = (count: number) =>
      Array<string>(count).fill(shardOf({ encoding: 1, bits: 2 ** 24, payload: rice(0, 0) }));
    // Each code once: tests/formats/bad-input.core.rs has all kinds of damage.
    const cases: readonly (readonly [string, string])[] = [
      ["!", "bad-base64"],
      [`${good}\n`, "bad-base64"],
      ["🦀🦀🦀🦀", "bad-base64"],
      ["\ud800AAA", "bad-base64"],
      ["", "truncated"],
      [shardOf({ magic: "SGS2" }), "bad-magic"],
      [shardOf({ reserved: 1 }), "bad-encoding"],
      [shardOf({ bits: 2 ** 32 - 1 }), "bad-parameters"],
      [shardOf({ bits: 2 ** 24 }), "bad-payload"],
      [shardOf({ encoding: 1, payload: rice(0, 2 ** 32 - 1, 0) }), "bad-payload"],
    ];
    await expectRefused(
      cases.flatMap(([bad, code]) => [
        [{ shards: [bad] }, code],
        [{ version: 2 ** 53 - 1, shards: [good, bad], now: NOW }, code],
        [{ version: 2 ** 53 - 1, shards: [bad, good] }, code],
      ]),
    );
    await expectRefused([
      [{ shards: Array<string>(65).fill(good) }, "too-large"],
      [{ shards: Array<string>(100_000).fill("") }, "too-large"],
      [{ shards: large(5) }, "too-large"],
      [{ shards: [...large(4), shardOf({ bits: 1 })] }, "too-large"],
      [{ shards: [...large(4), shardOf({ hashes: 33 })] }, "bad-parameters"],
    ]);
  });

  test("is reported with its index", async () => {
    const { guard } = await openGuard();
    const report = refusalOf(guard.apply({ shards: [await shardText(["a"]), "!"] }));
    expect(report.error?.message).toContain("bad-base64: shard 1 is refused");
  });
});

describe("a snapshot at the limits", () => {
  test("i7: is applied: 64 shards", async () => {
    const { guard } = await openGuard();
    const shards = await Promise.all(idsOf("id", 64).map((id) => shardText([id], { capacity: 100 })));
    expect(guard.apply({ shards })).toMatchObject({ applied: true });
    expect(guard.filter([...idsOf("id", 64), "other"])).toEqual(["other"]);
    expect(guard.explain("id-63")).toEqual({ seen: true, by: "server" });
  });

  test("i7: is applied: 2^26 bits together", async () => {
    const { guard } = await openGuard();
    const shards = Array<string>(4).fill(shardOf({ encoding: 1, bits: 2 ** 24, payload: rice(0, 0) }));
    expect(guard.apply({ shards })).toMatchObject({ applied: true });
    expect(guard.filter(["a"])).toEqual(["a"]);
  });

  test("is applied with unknown properties", async () => {
    const { guard, errors } = await openGuard();
    const shipped = { ...(await shippedSnapshot(["a"])), format: "seenguard" as const, region: "eu", served: 12 };
    expect(guard.apply(shipped)).toMatchObject({ applied: true });
    expect(errors).toEqual([]);
  });
});

describe("the version of a snapshot", () => {
  test("that is older is not an error, and the snapshot is not applied", async () => {
    const { guard, errors, inUse, expectUnchanged } = await guardInUse();
    const older = { ...inUse, version: inUse.version - 1, shards: [await shardText(["other"])] };
    expect(guard.apply(older)).toEqual({ applied: false, reason: "older-version" });
    expectUnchanged();
    expect(guard.explain("other").seen).toBe(false);
    expect(errors).toEqual([]);
  });

  test("is not stored across visits", async () => {
    const options = { namespace: uniqueNamespace() };
    const first = await openGuard(options);
    first.guard.apply({ version: 100, shards: [] });
    await first.guard.close();
    const second = await openGuard(options);
    expect(second.guard.stats().version).toBeUndefined();
    expect(second.guard.apply({ version: 1, shards: [] })).toMatchObject({ applied: true });
  });
});

describe("the result of apply", () => {
  test("a held shard may be sent as its reference", async () => {
    const { guard } = await openGuard();
    const [a, b, c] = [await shardText(["a"]), await shardText(["b"]), await shardText(["c"])];
    expect(heldBy(guard)).toBe("");
    guard.apply({ shards: [b, a] });
    const [, ofA = ""] = heldBy(guard).split(".");
    expect(guard.apply({ shards: [c, `~${ofA}`] })).toMatchObject({ applied: true });
    expect(guard.filter(["a", "b", "c"])).toEqual(["b"]);
  });

  test("a reference to a shard that is not held is not an error, changes nothing, and requests all shards", async () => {
    const { guard, errors } = await openGuard();
    const [a, b] = [await shardText(["a"]), await shardText(["b"])];
    guard.apply({ version: 5, shards: [a] });
    const held = heldBy(guard);
    const missing = { version: 6, shards: [b, "~0123456789ab"] };
    expect(guard.apply(missing)).toMatchObject({ applied: false, reason: "missing-shard" });
    expect([guard.stats().version, guard.filter(["a", "b"]), heldBy(guard)]).toEqual([5, ["b"], ""]);
    expect(guard.apply({ ...missing, version: 4 })).toMatchObject({ reason: "older-version" });
    expect(guard.apply({ version: 6, shards: [a] })).toMatchObject({ applied: true });
    expect(heldBy(guard)).toBe(held);
    expect(errors).toEqual([]);
  });

  test("pending impressions are covered once, and then no longer pending, but still stopped", async () => {
    const { guard } = await openGuard();
    guard.record(["a", "b", "c"]);
    expect(guard.apply(await shippedSnapshot(["a", "c"]))).toMatchObject({ covered: 2 });
    expect(guard.pending()).toEqual(["b"]);
    expect(guard.stats()).toMatchObject({ pending: 1, remembered: 3 });
    expect(guard.apply(await shippedSnapshot(["a", "c", "x"]))).toMatchObject({ covered: 0 });
    expect(guard.filter(["a", "b", "c", "d"])).toEqual(["d"]);
  });

  test("an expected false positive rate that grows with the fill of the shards", async () => {
    const { guard } = await openGuard();
    expect(guard.stats().serverFalsePositiveRate).toBe(0);
    guard.apply(await shippedSnapshot(idsOf("a", 1000)));
    const one = guard.stats().serverFalsePositiveRate;
    expect(one).toBeGreaterThan(0.0008);
    expect(one).toBeLessThan(0.0012);
    guard.apply(await shippedSnapshot(idsOf("a", 5000)));
    expect(guard.stats().serverFalsePositiveRate).toBeGreaterThan(4 * one);
  });
});

describe("without onError", () => {
  test("each code is a console warning once", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    try {
      const { guard } = await openGuard({ onError: undefined as never });
      for (const bad of ["!", "!", "AAAA", "!", "AAAA"]) guard.apply({ shards: [bad] });
      const said = warn.mock.calls.map(([message]) => String(message));
      expect(said).toHaveLength(2);
      expect(said[0]).toMatch(/seenguard.*bad-base64/);
      expect(said[1]).toMatch(/seenguard.*truncated/);
    } finally {
      warn.mockRestore();
    }
  });
});
