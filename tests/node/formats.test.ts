/** The filters that servers already have, through the built package: every answer, every way to ask, every refusal. */
import * as native from "seenguard";
import type { GuardOptions } from "seenguard";
import * as formats from "seenguard/formats";
import { ShardChain, type ChainOptions, type ShardFormat, type Snapshot } from "seenguard/server";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { casesOf } from "../vectors/foreign.js";
import { pendingListOf } from "./devices.js";
import { foreignFilters } from "./foreign.js";
import { openGuard as openOf, reasonOf, uniqueNamespace, type Package } from "./support.js";

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
  const stopped = ids.filter((_, index) => answers[index] === "1");
  const fresh = ids.filter((_, index) => answers[index] === "0");

  test("i8: filter stops exactly the ids that the library finds in it", async () => {
    const { guard, errors } = await openGuard();
    expect(guard.apply({ format, shards })).toEqual({ applied: true, covered: 0 });
    expect(guard.filter(ids)).toEqual(fresh);
    expect(guard.headers()["Seen-Held"]?.split(".")).toHaveLength(shards.length);
    // Of a filter as good as empty the rate is less than a double can tell from 0.
    expect(guard.stats().serverFalsePositiveRate > 0).toBe(inserted > 7);
    expect(errors).toEqual([]);
  });

  test("answers the same through explain", async () => {
    const { guard } = await openGuard();
    guard.apply({ format, shards });
    expect(ids.map((id) => (guard.explain(id).seen ? "1" : "0")).join("")).toBe(answers);
    for (const id of stopped.slice(0, 200)) expect(guard.explain(id)).toEqual({ seen: true, by: "server" });
    for (const id of fresh.slice(0, 200)) expect(guard.explain(id)).toEqual({ seen: false });
  });

  test("covers pending impressions, and ids shown by the device stay stopped after any later snapshot", async () => {
    const lags: string[] = [];
    const { guard } = await openGuard({ onLag: (_, id) => lags.push(id) });
    const known = stopped.at(-1);
    guard.record(["of this device", ...(known === undefined ? [] : [known])]);
    expect(guard.apply({ format, shards }).covered).toBe(known === undefined ? 0 : 1);
    expect(guard.pending()).toEqual(["of this device"]);
    expect(lags).toEqual(known === undefined ? [] : [known]);
    // Back and forth between the formats, and to nothing.
    for (const other of [{ shards: [] }, { format, shards }, { shards: [] }]) {
      expect(guard.apply(other).applied).toBe(true);
      expect(guard.filter(["of this device", ...(known === undefined ? [] : [known])])).toEqual([]);
    }
    expect(guard.headers()["Seen-Pending"]?.split(".")[3]).toBe(pendingListOf(["of this device"]));
  });

  test("is taken when it comes again, and follows the version that is shipped with it", async () => {
    const { guard } = await openGuard();
    expect(guard.apply({ format, shards, version: 7 })).toMatchObject({ applied: true });
    expect(guard.apply({ format, shards, version: 8 })).toMatchObject({ applied: true });
    expect(guard.apply({ format, shards, version: 7 })).toMatchObject({ applied: false, reason: "older-version" });
    expect(guard.stats().version).toBe(8);
  });

  test("is refused whole when a part of it is damaged", async () => {
    const { guard, codes } = await openGuard();
    guard.apply({ format, shards });
    const before = guard.filter(ids);
    const cut = (text: string) => text.slice(0, -9);
    const [first, ...rest] = shards;
    const damaged = typeof first === "string" ? cut(first) : (first ?? []).map(cut);
    const report = guard.apply({ format, shards: [damaged, ...rest] });
    expect(report).toMatchObject({ applied: false, reason: "invalid" });
    expect(["bad-base64", "bad-payload", "truncated"]).toContain(report.error && reasonOf(report.error));
    expect(codes()).toEqual(["bad-snapshot"]);
    expect(guard.filter(ids)).toEqual(before);
  });
});

/** A chain ships k, which is all that a device needs beside the records. */
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

  test("keeps go-bloomfilter records with its own sizes if the format names none", async () => {
    const sizes = { capacity: 300, falsePositiveRate: 0.01 };
    const told = await chainOf({ format: { kind: "go-bloomfilter", ...sizes } });
    told.record("a");
    for (const [options, hashes] of [
      [sizes, 7],
      [{}, 10],
    ] as const) {
      const chain = await chainOf({ ...options, format: { kind: "go-bloomfilter" } });
      chain.record("a");
      expect(chain.snapshot().format).toEqual({ kind: "go-bloomfilter", hashes });
      expect(chain.snapshot().shards).toEqual(
        options === sizes ? told.snapshot().shards : [expect.stringMatching(/^1::/)],
      );
      const again = await chainOf({ ...options, format: { kind: "go-bloomfilter" } }, chain.snapshot().shards);
      expect(again.rejected).toEqual([]);
      expect(again.has("a")).toBe(true);
      const { guard } = await openGuard();
      guard.apply(chain.snapshot());
      expect(guard.filter(["a", "b"])).toEqual(["b"]);
    }
    // The records of other filters are of no use to it.
    const [other] = (await chainOf({ format: { kind: "go-bloomfilter" } }, told.snapshot().shards)).rejected;
    expect(other).toEqual({ index: 0, reason: "bad-payload" });
  });

  test("lists unreadable shards", async () => {
    const format = { kind: "go-bloomfilter", hashes: 10 } as const;
    const chain = await chainOf({ format }, ["x::AAAA", "AAAA", "1::AAA", "1::AAAAAAAA"]);
    expect(chain.rejected).toEqual([
      { index: 0, reason: "bad-parameters" },
      { index: 1, reason: "bad-magic" },
      { index: 2, reason: "bad-payload" },
      { index: 3, reason: "bad-payload" },
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
    [{ format: { kind: "go-bloomfilter" }, seed: 1n }, /seed/],
    [{ format: { kind: "guava" } as unknown as ShardFormat }, /redisbloom/],
    [{ format: "bloom" as ShardFormat }, /redisbloom/],
  ])("refuses options that its format cannot keep: %o", async (options, message) => {
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
    [{ format: { kind: "go-bloomfilter", capacity: 4e9, falsePositiveRate: 0.1 }, shards: [] }, "too-large", /2\^26/],
    [{ format: "redisbloom", shards: ["AAAA"] }, "bad-snapshot", /shard 0 is no list.*BF\.SCANDUMP/],
    [{ format: "redisbloom", shards: [[1]] }, "bad-snapshot", /shard 0 is no list of texts/],
    [{ format: "redisbloom", shards: [["AAAA,AAAA"]] }, "bad-base64", /shard 0/],
    [{ format: "redisbloom", shards: [[]] }, "truncated", /shard 0/],
    [{ format: "guava", shards: [["AAAA"]] }, "bad-snapshot", /shard 0 is no text/],
    [{ format: "guava", shards: ["AQo="] }, "truncated", /shard 0/],
  ])("%j", async (snapshot, reason, message) => {
    const { guard, codes } = await openGuard();
    const report = guard.apply(snapshot as Snapshot);
    expect(report).toMatchObject({ applied: false, reason: "invalid", error: { code: "bad-snapshot" } });
    expect(report.error && reasonOf(report.error)).toBe(reason);
    expect(report.error?.message).toMatch(message);
    expect(codes()).toEqual(["bad-snapshot"]);
  });
});

describe("the entry seenguard, which knows the native format alone,", () => {
  const [{ format, shards, ids, answers } = { format: "guava", shards: [], ids: [], answers: "" } as const] = filters;
  const every: readonly ShardFormat[] = [
    ...new Map(filters.map((filter) => [JSON.stringify(filter.format), filter.format])).values(),
  ];
  const refusal = { applied: false, reason: "invalid", error: { code: "bad-snapshot" } };

  test.each(every)("refuses a snapshot of format %j, says what to import, and goes on", async (format) => {
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
      const told = errors.length;
      expect(guard.apply({ format, shards: ["AAAA", ["AAAA"]] } as unknown as Snapshot)).toMatchObject(refusal);
      expect(errors[told]?.message).toMatch(/import "seenguard\/formats"/);
    }
  });

  test("decides for a namespace that it has opened, and a copy with formats for one of its own", async () => {
    const namespace = uniqueNamespace();
    const [first, second] = [await openGuard({ namespace }, native), await openGuard({ namespace }, formats)];
    expect(second.guard.apply({ format, shards })).toMatchObject(refusal);
    expect(second.errors[0]?.message).toMatch(/instead of "seenguard" everywhere/);
    first.guard.record("a");
    expect(second.guard.explain("a").seen).toBe(true);

    const another = uniqueNamespace();
    const [full, beside] = [
      await openGuard({ namespace: another }, formats),
      await openGuard({ namespace: another }, native),
    ];
    expect(beside.guard.apply({ format, shards })).toMatchObject({ applied: true });
    expect(full.guard.filter(ids)).toEqual(ids.filter((_, index) => answers[index] === "0"));
  });
});

describe("bits-and-blooms as JSON", () => {
  const [{ json } = { json: "" }] = casesOf("bits-and-blooms");
  const apply = async (shard: string) =>
    (await openGuard()).guard.apply({ format: "bits-and-blooms", shards: [shard] });

  test.each([
    ["as Go writes it", json],
    ["with white space around everything", json.replace(/[{}:,]/g, " \n$& \t")],
    ["with fields that nobody knows", json.replace("{", '{"made":{"by":["go",1e3,null]},')],
    ["with an escape in its text", json.replace('"b"', '"\\u0062"')],
  ])("is read %s", async (_, shard) => {
    expect(await apply(shard)).toMatchObject({ applied: true });
  });

  test.each([
    ["cut off", json.slice(0, -1)],
    ["followed by anything", `${json}x`],
    ["twice", json + json],
    ["with a comment", json.replace("{", "{/* m */")],
    ["with a trailing comma", json.replace("}", ",}")],
    ["with single quotes", json.replaceAll('"', "'")],
    ["with a field twice", json.replace("{", '{"k":3,')],
    ["with a leading zero", json.replace(/"k":/, '"k":0')],
    ["with a fraction", json.replace(/"k":(\d+)/, '"k":$1.5')],
    ["with a text for a number", json.replace(/"k":(\d+)/, '"k":"$1"')],
    ["without k", json.replace(/"k":\d+,/, "")],
    ["as a list", `[${json}]`],
  ])("is refused %s", async (_, shard) => {
    expect(shard).not.toBe(json);
    expect(await apply(shard)).toMatchObject({ applied: false, reason: "invalid" });
  });
});

test("a chain in Guava's format seals its newest shard when as many as its capacity were inserted", async () => {
  for (const prefix of ["a", "b", "c", "d", "e", "f"]) {
    const chain = await chainOf({ format: "guava", capacity: 500 });
    let inserted = 0;
    for (let number = 0; inserted < 500; number++) inserted += chain.record(`${prefix}-${String(number)}`);
    expect(chain.snapshot().shards).toHaveLength(1);
    expect(chain.record(`${prefix}-next`)).toBe(1);
    expect(chain.snapshot().shards).toHaveLength(2);
  }
});
