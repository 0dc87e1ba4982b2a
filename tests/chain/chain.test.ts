/** `ShardChain` on the server: one user's shards. */
import { SeenGuardError, ShardChain, type ChainOptions, type ItemId, type Snapshot } from "seenguard/server";
import { describe, expect, test, vi } from "vitest";
import { fakeTimers } from "../support/clocks.js";
import { bytesOf, shardOf, encode } from "../support/shards.js";
import { chainFrom, createChain, idsOf, NOW } from "../support/node.js";

/** The fields of a shard's header. */
function headerOf(text: string | readonly string[] | undefined) {
  const bytes = Buffer.from(String(text), "base64");
  return {
    bits: bytes.readUInt32LE(8),
    count: bytes.readUInt32LE(12),
    seed: bytes.readBigUInt64LE(16),
    epoch: bytes.readUInt32LE(24),
    expires: bytes.readUInt32LE(28),
  };
}

describe("a chain", () => {
  test("records ids, and returns how many it did not contain", async () => {
    const chain = await createChain();
    expect(chain.record(["a", "b", "a"], { now: NOW })).toBe(2);
    expect(chain.record("c", { now: NOW })).toBe(1);
    expect(chain.record(new Set([1, 2n, "a"]), { now: NOW })).toBe(2);
    expect(chain.has("a", { now: NOW })).toBe(true);
    expect(chain.has(1, { now: NOW })).toBe(true);
    expect(chain.has("other", { now: NOW })).toBe(false);
    expect(chain.filter([{ id: "a" }, { id: "d" }, { id: "d" }])).toEqual([{ id: "d" }]);
    expect(chain.filter(["x", "c"], { id: (item: string) => item, now: NOW })).toEqual(["x"]);
  });

  test("filters any list as a guard does", async () => {
    const chain = await createChain();
    chain.record("seen", { now: NOW });
    const odd = [null, { id: "seen" }, {}, 1.5, { id: "a" }, Symbol("b")] as { id: string }[];
    expect(chain.filter(odd)).toEqual(odd.filter((_, index) => index !== 1));
    for (const none of [null, undefined, 7, {}]) expect(chain.filter(none as string[])).toEqual([]);
    expect(chain.filter(idsOf("many", 200_000))).toHaveLength(200_000);
  });

  test("uses the wall clock by default", async () => {
    fakeTimers({ toFake: ["Date"], now: NOW * 1000 + 999 });
    const chain = await createChain({ ttlSeconds: 100, shards: 2 });
    chain.record("a");
    expect(chain.snapshot()).toMatchObject({ version: NOW * 2 ** 21 + 1, now: NOW });
    vi.setSystemTime((NOW + 250) * 1000);
    expect(chain.has("a")).toBe(false);
    expect(chain.filter(["a"])).toEqual(["a"]);
  });

  /** Every method that takes options, called with these. */
  const callsOf = (chain: ShardChain, options?: object) => [
    () => chain.record("b", options),
    () => chain.has("a", options),
    () => chain.filter(["a"], options),
    () => chain.unsee("a", options),
    () => chain.forget(options),
    () => chain.snapshot(options),
  ];
  const refusal = expect.objectContaining({ code: "bad-option" }) as Error;

  const wrongTimes = [NaN, -1, Infinity, 1e300, "1764000000", 5n, null, {}, 2 ** 32, NOW * 1000];
  test.each(wrongTimes)("refuses the time %o and continues: Unix seconds have 32 bits", async (now) => {
    const chain = await createChain();
    chain.record("a", { now: NOW });
    const before = chain.snapshot({ now: NOW });
    for (const call of callsOf(chain, { now })) expect(call).toThrow(refusal);
    expect(chain.snapshot({ now: NOW })).toEqual(before);
    expect(chain.record("c", { now: NOW + 0.5 })).toBe(1);
    expect(chain.record("d", { now: 2 ** 32 - 1 })).toBe(1);
    expect(chain.filter(["a", "b", "c", "d"])).toEqual(["b"]);
  });

  test("refuses options that it does not have, and names the method", async () => {
    const chain = await createChain();
    for (const options of [NOW, { nowSeconds: NOW }, null, "now", [NOW]] as object[])
      for (const call of callsOf(chain, options)) expect(call).toThrow(refusal);
    const methods = ["record", "has", "filter", "unsee", "forget", "snapshot"];
    for (const [index, call] of callsOf(chain, { nowSeconds: NOW }).entries())
      expect(call).toThrow(`ShardChain.${String(methods[index])}`);
    expect(() => chain.filter(["a"], { id: "id" } as object)).toThrow(/id must be a function/);
    expect(chain.has("a", { now: undefined } as object)).toBe(false);
  });

  test("that was freed throws an error that names the reason, and may be freed again", async () => {
    const chain = await ShardChain.create();
    chain.record("a", { now: NOW });
    chain.free();
    chain.free();
    const report = { namespace: "home", receivedAt: NOW * 1000, impressions: [], unseen: [] };
    for (const call of [...callsOf(chain), () => chain.ingest(report)]) expect(call).toThrow(refusal);
    const other = await createChain();
    expect(other.record("a", { now: NOW })).toBe(1);
  });
});

describe("a chain that continues a stored one", () => {
  test("ignores unreadable elements, and lists each with its index", async () => {
    const chain = await createChain({ capacity: 10 });
    chain.record(idsOf("item", 25), { now: NOW });
    const [newest = "", middle = "", oldest = ""] = chain.snapshot({ now: NOW }).shards;
    const cut = encode(bytesOf(middle).subarray(0, 30));
    const stored = [undefined, newest, "!", null, cut, middle, 7, shardOf({ hashes: 33 }), oldest, {}, `${oldest} `];
    // A hole, as `delete` leaves it.
    stored.length = 13;
    const resumed = await chainFrom(stored as string[], { capacity: 10 });
    expect(resumed.rejected).toEqual([
      { index: 0, reason: "bad-base64" },
      { index: 2, reason: "bad-base64" },
      { index: 3, reason: "bad-base64" },
      { index: 4, reason: "truncated" },
      { index: 6, reason: "bad-base64" },
      { index: 7, reason: "bad-parameters" },
      { index: 9, reason: "bad-base64" },
      { index: 10, reason: "bad-base64" },
      { index: 11, reason: "bad-base64" },
      { index: 12, reason: "bad-base64" },
    ]);
    expect(resumed.snapshot({ now: NOW }).shards).toEqual([newest, middle, oldest]);
    expect(idsOf("item", 25).every((id) => resumed.has(id, { now: NOW }))).toBe(true);
  });

  test("rejects a value that is not a list of shards", async () => {
    for (const none of [null, undefined, 7, "U0dTMQ==", {}, { shards: "U0dTMQ==" }, { shards: null }]) {
      await expect(ShardChain.from(none as Snapshot)).rejects.toMatchObject({ code: "bad-snapshot" });
    }
  });
});

describe("options of a chain", () => {
  const wrong: readonly (readonly [unknown, RegExp?])[] = [
    [null],
    [7],
    ["options"],
    [[]],
    [{ capacity: 0 }],
    [{ capacity: -1 }],
    [{ capacity: 1.5 }],
    [{ capacity: NaN }],
    [{ capacity: "1000" }],
    [{ capacity: 1000n }],
    [{ capacity: null }],
    [{ capacity: 2 ** 32 }],
    [{ capacity: 2 ** 32 - 1 }, /2\^24 bits/],
    [{ capacity: 2 ** 22 }, /2\^24 bits/],
    [{ falsePositiveRate: 1e-12 }, /over 32 hashes/],
    [{ capacity: 10 ** 6, shards: 64 }, /2\^26 bits/],
    [{ shards: 0 }],
    [{ shards: 65 }],
    [{ shards: 2.5 }],
    [{ shards: 33, ttlSeconds: 60 }],
    [{ falsePositiveRate: 0 }],
    [{ falsePositiveRate: 1 }],
    [{ falsePositiveRate: -0.1 }],
    [{ falsePositiveRate: NaN }],
    [{ falsePositiveRate: "0.001" }],
    [{ seed: -1 }],
    [{ seed: 0.5 }],
    [{ seed: 2 ** 53 }],
    [{ seed: "7" }],
    [{ seed: -1n }],
    [{ seed: 2n ** 64n }],
    [{ ttlSeconds: -1 }],
    [{ ttlSeconds: 0.5 }],
    [{ ttlSeconds: Infinity }],
    [{ ttlSeconds: 2 ** 32 }],
    [{ format: "zip" }],
    [{ capacityy: 10 }],
    [{ ttl: 10 }],
  ];

  test("i5: that are wrong make create and from reject with the option's name", async () => {
    for (const [options, message] of wrong) {
      for (const made of [ShardChain.create(options as ChainOptions), ShardChain.from([], options as ChainOptions)]) {
        const error: unknown = await made.then(
          () => undefined,
          (cause: unknown) => cause,
        );
        expect(error, `case ${String(wrong.findIndex(([one]) => one === options))}`).toMatchObject({
          code: "bad-option",
        });
        expect(error).toBeInstanceOf(SeenGuardError);
        expect(error).toBeInstanceOf(Error);
        const [name] = typeof options === "object" && options !== null ? Object.keys(options) : [];
        expect((error as Error).message).toMatch(message ?? new RegExp((name ?? "").slice(0, 6)));
      }
    }
  });

  test("that are undefined have their defaults", async () => {
    const chain = await createChain({
      capacity: undefined,
      seed: undefined,
      format: undefined,
    } as unknown as ChainOptions);
    chain.record("a" as ItemId, { now: NOW });
    expect(headerOf(chain.snapshot({ now: NOW }).shards[0])).toMatchObject({
      bits: 14_378,
      seed: 0n,
      expires: 0,
      epoch: NOW,
    });
  });
});
