/** Filters of other libraries, through the built package: every result, every method, every refusal. */
import * as native from "seenguard";
import type { GuardOptions } from "seenguard";
import * as formats from "seenguard/formats";
import { ShardChain, type ChainOptions, type ShardFormat, type Snapshot } from "seenguard/server";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { foreignFilters } from "../vectors/foreign.js";
import { openGuard as openOf, reasonOf, refusalOf, uniqueNamespace, type Package } from "../support/node.js";

const openGuard = (options: Partial<GuardOptions> = {}, copy: Pick<Package, "SeenGuard"> = formats) =>
  openOf(options, copy);

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
  const fresh = ids.filter((_, index) => answers[index] === "0");

  test("i8: filter stops exactly the ids that the library reports as contained", async () => {
    const { guard, errors } = await openGuard();
    expect(guard.apply({ format, shards })).toEqual({ applied: true, covered: 0 });
    expect(guard.filter(ids)).toEqual(fresh);
    expect(guard.headers()["Seen-Held"]?.split(".")).toHaveLength(shards.length);
    // The rate of a nearly empty filter is too small for a double.
    expect(guard.stats().serverFalsePositiveRate > 0).toBe(inserted > 7);
    expect(errors).toEqual([]);
  });
});

/** A chain sends k, which is all that a device needs besides the records. */
const shippedAs = (format: unknown): unknown =>
  typeof format === "object" ? { kind: "go-bloomfilter", hashes: expect.any(Number) as number } : format;

describe("a chain", () => {
  const written = filters.filter(({ chain }) => chain !== undefined);

  test.each(written)(
    "writes what the library wrote: $name",
    async ({ chain: options = {}, shards, ids, inserted, format }) => {
      const chain = await chainOf(options);
      chain.record(ids.slice(0, inserted));
      const snapshot = chain.snapshot();
      expect(snapshot.shards).toEqual(inserted === 0 ? [] : shards);
      expect(snapshot.format).toEqual(shippedAs(format));
      expect("version" in snapshot).toBe(false);
      const { guard } = await openGuard();
      guard.apply(snapshot);
      expect(guard.filter(ids)).toEqual(chain.filter(ids));
    },
  );

  test("continues stored shards of which only k is known", async () => {
    const [{ shards, ids } = { shards: [], ids: [] }] = written;
    const format = { kind: "go-bloomfilter", hashes: 10 } as const;
    const chain = await chainOf({ format }, shards.flat());
    expect(chain.rejected).toEqual([]);
    expect(chain.record(["next"])).toBe(1);
    const shipped = chain.snapshot().shards;
    expect(shipped.slice(1)).toEqual(shards.slice(1));
    expect(shipped[0]).toMatch(/^301::/);
    expect(chain.has("next") && chain.has(ids[4299] ?? "")).toBe(true);
  });

  test.each<[ChainOptions, RegExp]>([
    [{ format: "redisbloom" }, /only read/],
    [{ format: "bits-and-blooms" }, /only read/],
    [{ format: "guava", seed: 1n }, /seed/],
    [{ format: "guava", ttlSeconds: 9 }, /ttlSeconds/],
    [{ format: { kind: "go-bloomfilter", capacity: 10, falsePositiveRate: 0.1 }, capacity: 11 }, /capacity/],
    [{ format: { kind: "go-bloomfilter", capacity: 10, falsePositiveRate: 0.1 }, falsePositiveRate: 0.2 }, /falsePos/],
    [{ format: { kind: "go-bloomfilter", hashes: 0 } }, /hashes/],
    [{ format: { kind: "go-bloomfilter" }, seed: 1n }, /seed/],
    [{ format: { kind: "guava" } as unknown as ShardFormat }, /redisbloom/],
    [{ format: "bloom" as ShardFormat }, /redisbloom/],
  ])("refuses options that its format cannot store: %o", async (options, message) => {
    await expect(ShardChain.create(options)).rejects.toMatchObject({
      code: "bad-option",
      message: expect.stringMatching(message) as string,
    });
  });
});

describe("a snapshot with a wrong format is refused with the remedy", () => {
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
    [
      { format: { kind: "go-bloomfilter", capacity: 4e9, falsePositiveRate: 0.1 }, shards: [] },
      "too-large",
      /the snapshot is refused/,
    ],
    [{ format: "redisbloom", shards: ["AAAA"] }, "bad-snapshot", /shard 0 must be a list.*BF\.SCANDUMP/],
    [{ format: "redisbloom", shards: [[1]] }, "bad-snapshot", /shard 0 must be a list of strings/],
    [{ format: "redisbloom", shards: [["AAAA,AAAA"]] }, "bad-base64", /shard 0/],
    [{ format: "redisbloom", shards: [[]] }, "truncated", /shard 0/],
    [{ format: "guava", shards: [["AAAA"]] }, "bad-snapshot", /shard 0 must be a base64 string/],
    [{ format: "guava", shards: ["AQo="] }, "truncated", /shard 0/],
  ])("%j", async (snapshot, reason, message) => {
    const { guard, codes } = await openGuard();
    const report = refusalOf(guard.apply(snapshot as Snapshot));
    expect(report).toMatchObject({ reason: "invalid", error: { code: "bad-snapshot" } });
    expect(report.error && reasonOf(report.error)).toBe(reason);
    expect(report.error?.message).toMatch(message);
    expect(codes()).toEqual(["bad-snapshot"]);
  });
});

describe("the entry seenguard, which reads only the native format,", () => {
  const [{ format, shards, ids, answers } = { format: "guava", shards: [], ids: [], answers: "" } as const] = filters;
  const every: readonly ShardFormat[] = [
    ...new Map(filters.map((filter) => [JSON.stringify(filter.format), filter.format])).values(),
  ];
  const refusal = { applied: false, reason: "invalid", error: { code: "bad-snapshot" } };

  test.each(every)("refuses a snapshot of format %j with the entry to import, and continues", async (format) => {
    const { guard, errors, codes } = await openGuard({}, native);
    guard.record("of this device");
    const ofFormat = filters.filter((filter) => filter.format === format).map(({ shards }) => shards);
    for (const shards of [...ofFormat, []]) expect(guard.apply({ format, shards })).toMatchObject(refusal);
    expect(codes()[0]).toBe("bad-snapshot");
    expect(errors[0]?.message).toMatch(/import "seenguard\/formats"/);
    expect(guard.filter(["of this device", "another"])).toEqual(["another"]);
    const chain = await chainOf({});
    chain.record("another");
    expect(guard.apply(chain.snapshot()).applied).toBe(true);
    expect(guard.filter(["of this device", "another"])).toEqual([]);
  });

  test("refuses an unknown format as it refuses a missing one", async () => {
    const { guard, errors } = await openGuard({}, native);
    for (const format of ["bloom", null, 7, { kind: "guava" }]) {
      const before = errors.length;
      expect(guard.apply({ format, shards: ["AAAA", ["AAAA"]] } as unknown as Snapshot)).toMatchObject(refusal);
      expect(errors[before]?.message).toMatch(/import "seenguard\/formats"/);
    }
  });

  test("serves a namespace that it has opened, and a copy with formats serves one of its own", async () => {
    const namespace = uniqueNamespace();
    const [first, second] = [await openGuard({ namespace }, native), await openGuard({ namespace }, formats)];
    expect(second.guard.apply({ format, shards })).toMatchObject(refusal);
    expect(second.errors[0]?.message).toMatch(/instead of "seenguard" everywhere/);
    first.guard.record("a");
    expect(second.guard.explain("a").seen).toBe(true);

    const another = uniqueNamespace();
    const [full, lean] = [
      await openGuard({ namespace: another }, formats),
      await openGuard({ namespace: another }, native),
    ];
    expect(lean.guard.apply({ format, shards })).toMatchObject({ applied: true });
    expect(full.guard.filter(ids)).toEqual(ids.filter((_, index) => answers[index] === "0"));
  });
});
