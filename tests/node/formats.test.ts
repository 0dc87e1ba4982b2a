/** The filters that servers already have, through the built package: every answer, every way to ask, every refusal. */
import { ShardChain, type ChainOptions, type ShardFormat, type Snapshot } from "seenguard";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { foreignFilters } from "./foreign.js";
import { openGuard } from "./support.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_764_000_000_000 });
  return () => vi.useRealTimers();
});

async function chainOf(options: ChainOptions, stored: readonly string[] = []): Promise<ShardChain> {
  const chain = await ShardChain.from(stored, options);
  onTestFinished(() => {
    chain.free();
  });
  return chain;
}

const filters = foreignFilters();

test("there are 26 filters of four formats", () => {
  expect(filters.length).toBe(26);
  expect(new Set(filters.map(({ format }) => (typeof format === "object" ? format.kind : format))).size).toBe(4);
});

describe.each(filters)("$name", ({ format, shards, ids, answers, inserted }) => {
  const stopped = ids.filter((_, index) => answers[index] === "1");
  const fresh = ids.filter((_, index) => answers[index] === "0");

  test("stops through filter what the library says that it contains, and nothing else", async () => {
    const { guard, errors } = await openGuard();
    const report = guard.apply({ format, shards });
    expect(report).toMatchObject({ applied: true, shards: shards.length, reused: 0, expired: 0, covered: 0 });
    expect(guard.filter(ids)).toEqual(fresh);
    const stats = guard.stats();
    expect(stats.filtered).toMatchObject({ server: stopped.length, passed: fresh.length });
    expect(stats.shards).toBe(shards.length);
    // Of a filter as good as empty the rate is less than a double can tell from 0.
    expect(stats.serverFalsePositiveRate > 0).toBe(inserted > 7);
    expect(errors).toEqual([]);
  });

  test("answers the same through has and explain, and names no epoch", async () => {
    const { guard } = await openGuard();
    guard.apply({ format, shards });
    expect(ids.map((id) => (guard.has(id) ? "1" : "0")).join("")).toBe(answers);
    for (const id of stopped.slice(0, 200)) {
      const explained = guard.explain(id);
      expect(explained).toMatchObject({ seen: true, by: "server" });
      expect("epoch" in explained).toBe(false);
    }
    for (const id of fresh.slice(0, 200)) expect(guard.explain(id)).toEqual({ seen: false });
  });

  test("settles what is pending, and what the device has shown stays stopped whatever comes after", async () => {
    const lags: string[] = [];
    const { guard } = await openGuard({ onLag: (_, id) => lags.push(id) });
    const known = stopped.at(-1);
    guard.record(["of this device", ...(known === undefined ? [] : [known])]);
    expect(guard.apply({ format, shards }).covered).toBe(known === undefined ? 0 : 1);
    expect(guard.pending()).toEqual(["of this device"]);
    expect(lags).toEqual(known === undefined ? [] : [known]);
    const pendingShard = guard.pendingShard();
    // Back and forth between the formats, and to nothing.
    for (const other of [{ shards: [] }, { shards: [pendingShard] }, { format, shards }, { shards: [] }]) {
      expect(guard.apply(other).applied).toBe(true);
      expect(guard.filter(["of this device", ...(known === undefined ? [] : [known])])).toEqual([]);
    }
    expect((await chainOf({}, [pendingShard])).has("of this device")).toBe(true);
  });

  test("is recognised when it comes again, and follows the version that is shipped with it", async () => {
    const { guard } = await openGuard();
    expect(guard.apply({ format, shards, version: 7 })).toMatchObject({ applied: true, reused: 0 });
    expect(guard.apply({ format, shards, version: 8 })).toMatchObject({ applied: true, reused: shards.length });
    expect(guard.apply({ format, shards, version: 7 })).toMatchObject({ applied: false, reason: "older-version" });
    expect(guard.version).toBe(8);
  });

  test("is refused whole when a part of it is damaged", async () => {
    const { guard, codes } = await openGuard();
    guard.apply({ format, shards });
    const before = guard.filter(ids);
    const cut = (text: string) => text.slice(0, -9);
    const [first, ...rest] = shards;
    const damaged = typeof first === "string" ? cut(first) : (first ?? []).map(cut);
    const report = guard.apply({ format, shards: [damaged, ...rest] });
    expect(report).toMatchObject({ applied: false, reason: "invalid", shards: shards.length });
    expect(["bad-base64", "bad-payload", "truncated"]).toContain(report.error?.code);
    expect(codes()).toEqual([report.error?.code]);
    expect(guard.filter(ids)).toEqual(before);
  });
});

describe("a chain", () => {
  const written = filters.filter(({ chain }) => chain !== undefined);

  test.each(written)(
    "writes what the library wrote: $name",
    async ({ chain: options = {}, shards, ids, inserted, format }) => {
      const chain = await chainOf(options);
      chain.record(ids.slice(0, inserted));
      const snapshot = chain.snapshot();
      expect(snapshot.shards).toEqual(inserted === 0 ? [] : shards);
      expect(snapshot.format).toEqual(format);
      expect("version" in snapshot).toBe(false);
      const { guard } = await openGuard();
      guard.apply(snapshot);
      expect(guard.filter(ids)).toEqual(chain.filter(ids));
    },
  );

  test("goes on from what is stored, with only k known", async () => {
    const [{ shards, ids } = { shards: [], ids: [] as string[] }] = written;
    const format = { kind: "go-bloomfilter", hashes: 10 } as const;
    const chain = await chainOf({ format }, shards.flat());
    expect(chain.rejected).toEqual([]);
    expect(chain.record(["next"])).toBe(1);
    const shipped = chain.snapshot().shards;
    expect(shipped.slice(1)).toEqual(shards.slice(1));
    expect(shipped[0]).toMatch(/^301::/);
    expect(chain.has("next") && chain.has(ids[4299] ?? "")).toBe(true);
  });

  test("lists what it cannot read", async () => {
    const format = { kind: "go-bloomfilter", hashes: 10 } as const;
    const chain = await chainOf({ format }, ["x::AAAA", "AAAA", "1::AAA", "1::AAAAAAAA"]);
    expect(chain.rejected).toEqual([
      { index: 0, code: "bad-parameters" },
      { index: 1, code: "bad-magic" },
      { index: 2, code: "bad-payload" },
      { index: 3, code: "bad-payload" },
    ]);
  });

  test.each<[ChainOptions, RegExp]>([
    [{ format: "redisbloom" }, /only read/],
    [{ format: "bits-and-blooms" }, /only read/],
    [{ format: "guava", seed: 1n }, /seed/],
    [{ format: "guava", ttlSeconds: 9 }, /ttlSeconds/],
    [{ format: { kind: "go-bloomfilter", capacity: 10, falsePositiveRate: 0.1 }, capacity: 11 }, /capacity/],
    [{ format: { kind: "go-bloomfilter", capacity: 10, falsePositiveRate: 0.1 }, falsePositiveRate: 0.2 }, /falsePos/],
    [{ format: { kind: "go-bloomfilter", hashes: 0 } }, /hashes/],
    [{ format: "bloom" as ShardFormat }, /redisbloom/],
  ])("refuses options that its format cannot keep: %o", async (options, message) => {
    await expect(ShardChain.create(options)).rejects.toMatchObject({
      code: "bad-option",
      message: expect.stringMatching(message) as string,
    });
  });
});

describe("a snapshot whose format is wrong is refused with what to do", () => {
  test.each<[unknown, string, RegExp]>([
    [{ format: "bloom", shards: [] }, "bad-snapshot", /"seenguard", "guava", "bits-and-blooms", "redisbloom" or/],
    [{ format: null, shards: [] }, "bad-snapshot", /format must be/],
    [{ format: 7, shards: [] }, "bad-snapshot", /format must be/],
    [{ format: { kind: "guava" }, shards: [] }, "bad-snapshot", /format must be/],
    [{ format: { kind: "go-bloomfilter" }, shards: [] }, "bad-snapshot", /hashes, a whole number/],
    [{ format: { kind: "go-bloomfilter", hashes: 1.5 }, shards: [] }, "bad-snapshot", /hashes, a whole number/],
    [{ format: { kind: "go-bloomfilter", hashes: 256 }, shards: [] }, "bad-snapshot", /hashes, a whole number/],
    [{ format: { kind: "go-bloomfilter", capacity: 9 }, shards: [] }, "bad-snapshot", /falsePositiveRate/],
    [{ format: { kind: "go-bloomfilter", hashes: 1, capacity: 9 }, shards: [] }, "bad-snapshot", /hashes/],
    [{ format: { kind: "go-bloomfilter", capacity: 9, falsePositiveRate: 1 }, shards: [] }, "bad-snapshot", /capacity/],
    [{ format: { kind: "go-bloomfilter", capacity: 4e9, falsePositiveRate: 0.1 }, shards: [] }, "too-large", /2\^26/],
    [{ format: "redisbloom", shards: ["AAAA"] }, "bad-snapshot", /shard 0 is no list.*BF\.SCANDUMP/],
    [{ format: "redisbloom", shards: [[1]] }, "bad-snapshot", /shard 0 has a chunk that is no text/],
    [{ format: "redisbloom", shards: [["AAAA,AAAA"]] }, "bad-base64", /shard 0/],
    [{ format: "redisbloom", shards: [[]] }, "truncated", /shard 0/],
    [{ format: "guava", shards: [["AAAA"]] }, "bad-snapshot", /shard 0 is no text/],
    [{ format: "guava", shards: ["AQo="] }, "truncated", /shard 0/],
  ])("%j", async (snapshot, code, message) => {
    const { guard, codes } = await openGuard();
    const report = guard.apply(snapshot as Snapshot);
    expect(report).toMatchObject({ applied: false, reason: "invalid", error: { code } });
    expect(report.error?.message).toMatch(message);
    expect(codes()).toEqual([code]);
  });
});
