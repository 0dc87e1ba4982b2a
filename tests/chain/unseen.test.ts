/** The data of a chain next to its shards, and references instead of the shards that a device holds. */
import { ShardChain, type ReceivedReport, type Snapshot } from "seenguard/server";
import { describe, expect, test } from "vitest";
import { xxh64 } from "../support/shards.js";
import { chainFrom, createChain, heldBy, idsOf, NOW, openGuard } from "../support/node.js";

const NOW_MS = NOW * 1000;

function report(parts: Partial<ReceivedReport> = {}): ReceivedReport {
  return { namespace: "home:ada", receivedAt: NOW_MS, impressions: [], unseen: [], ...parts };
}

function throwing(code: string): Error {
  return expect.objectContaining({ code }) as Error;
}

describe("an id made unseen", () => {
  test("is fresh until it is recorded again, and listed in snapshots", async () => {
    const chain = await createChain();
    chain.record(["a", "b", 3], { now: NOW });
    chain.unsee(["a", 3n], { now: NOW + 1.5 });
    chain.unsee("never seen", { now: NOW });
    expect(chain.filter(["a", "b", "3", "c"], { now: NOW })).toEqual(["a", "3", "c"]);
    expect(chain.has("a", { now: NOW })).toBe(false);
    const unseen = ["3", "a"].map((id) => ({ id, at: NOW_MS + 1500 }));
    expect(chain.snapshot({ now: NOW }).unseen).toEqual(unseen);
    expect(chain.record("a", { now: NOW })).toBe(0);
    expect(chain.filter(["a", "b", "3"], { now: NOW })).toEqual(["3"]);
    chain.record(3, { now: NOW });
    expect("unseen" in chain.snapshot({ now: NOW })).toBe(false);
  });
});

describe("a report", () => {
  test("applies unseen ids and impressions, each with its own time", async () => {
    const chain = await createChain();
    chain.record(["a", "b"], { now: NOW });
    chain.unsee("b", { now: NOW + 2 });
    const unseen = [{ id: "a", at: NOW_MS + 3000 }];
    const impressions = [
      { id: "b", at: NOW_MS + 1000 },
      { id: "c", at: NOW_MS + 4000 },
    ];
    expect(chain.ingest(report({ receivedAt: NOW_MS + 5000, unseen, impressions }))).toBe(1);
    expect(chain.snapshot({ now: NOW + 5 }).unseen).toEqual([...unseen, { id: "b", at: NOW_MS + 2000 }]);
    expect(chain.filter(["a", "b", "c"], { now: NOW + 5 })).toEqual(["a", "b"]);
  });

  const impression = { id: "b", at: NOW_MS };
  const wrong: readonly [string, unknown][] = [
    ["nothing", undefined],
    ["null", null],
    ["a string", JSON.stringify(report())],
    ["a list", [report()]],
    ["an empty object", {}],
    ["no namespace", { ...report(), namespace: undefined }],
    ["a namespace that is not a string", { ...report(), namespace: 7 }],
    ["no time", { ...report(), receivedAt: undefined }],
    ["a time that is not a number", { ...report(), receivedAt: "1764000000000" }],
    ["a negative time", { ...report(), receivedAt: -1 }],
    ["a time that is NaN", { ...report(), receivedAt: NaN }],
    ["no impressions", { ...report(), impressions: undefined }],
    ["impressions that are not a list", { ...report(), impressions: { 0: impression, length: 1 } }],
    ["ids alone", { ...report(), impressions: ["b"] }],
    ["an impression without an id", { ...report(), impressions: [impression, { at: NOW_MS }] }],
    ["an impression whose id is a number", { ...report(), impressions: [impression, { id: 7, at: NOW_MS }] }],
    ["an impression without a time", { ...report(), impressions: [impression, { id: "c" }] }],
    ["a time that is a string", { ...report(), impressions: [impression, { id: "c", at: String(NOW_MS) }] }],
    ["a time that is infinite", { ...report(), impressions: [impression, { id: "c", at: Infinity }] }],
    ["a hole", { ...report(), impressions: Object.assign([impression], { length: 2 }) }],
    ["null among impressions", { ...report(), impressions: [impression, null] }],
    ["unseen ids that are not a list", { ...report(), impressions: [impression], unseen: "a" }],
    ["null as the unseen ids", { ...report(), impressions: [impression], unseen: null }],
    ["an unseen entry without an id", { ...report(), impressions: [impression], unseen: [{ at: 1 }] }],
    [
      "a getter that throws",
      {
        ...report(),
        get impressions() {
          throw new Error("no");
        },
      },
    ],
  ];
  test.each(wrong)("of wrong types (%s) is refused and changes nothing", async (_, given) => {
    const chain = await createChain();
    chain.record("a", { now: NOW });
    const before = chain.snapshot({ now: NOW });
    expect(() => chain.ingest(given as ReceivedReport)).toThrow(throwing("bad-report"));
    expect(chain.snapshot({ now: NOW })).toEqual(before);
  });
});

test("a deleted history leaves an empty chain with the time of the deletion, and stays deleted", async () => {
  const chain = await createChain();
  chain.record(["a", "b"], { now: NOW });
  chain.forget({ now: NOW + 10 });
  const empty = { version: 0, shards: [], now: NOW + 20, forgetBefore: NOW + 10 };
  expect(chain.snapshot({ now: NOW + 20 })).toEqual(empty);
  chain.ingest(report({ receivedAt: NOW_MS + 20_000, impressions: [{ id: "a", at: NOW_MS + 9_999 }] }));
  chain.forget({ now: NOW });
  expect(chain.snapshot({ now: NOW + 20 })).toEqual(empty);
});

describe("a chain that continues from a stored snapshot", () => {
  test("has its unseen ids and the deletion of the history", async () => {
    const chain = await createChain({ capacity: 10 });
    chain.forget({ now: NOW });
    chain.record(idsOf("item", 25), { now: NOW + 5 });
    chain.unsee(idsOf("item", 5), { now: NOW + 6 });
    const stored = JSON.parse(JSON.stringify(chain.snapshot({ now: NOW + 7 }))) as Snapshot;
    const resumed = await chainFrom(stored, { capacity: 10 });
    expect(resumed.rejected).toEqual([]);
    expect(resumed.snapshot({ now: NOW + 7 })).toEqual(stored);
    const late = report({ receivedAt: NOW_MS + 7000, impressions: [{ id: "item-1", at: NOW_MS + 6000 }] });
    resumed.ingest(late);
    expect(resumed.has("item-1", { now: NOW + 7 })).toBe(false);
  });

  const entry = { id: "a", at: NOW_MS };
  const wrong: readonly [string, object][] = [
    ["1,001 entries", { unseen: Array<object>(1001).fill(entry) }],
    ["a string as unseen", { unseen: "a" }],
    ["null as unseen", { unseen: null }],
    ["ids alone", { unseen: ["a"] }],
    ["an id that is a number", { unseen: [{ id: 7, at: NOW_MS }] }],
    ["no time", { unseen: [{ id: "a" }] }],
    ["a time that is NaN", { unseen: [{ id: "a", at: NaN }] }],
    ["a negative time", { unseen: [{ id: "a", at: -1 }] }],
    ["a hole", { unseen: Object.assign([entry], { length: 2 }) }],
    ["milliseconds as forgetBefore", { forgetBefore: NOW_MS }],
    ["a string as forgetBefore", { forgetBefore: String(NOW) }],
    ["a part of a second as forgetBefore", { forgetBefore: NOW + 0.5 }],
    ["a negative forgetBefore", { forgetBefore: -1 }],
    ["null as forgetBefore", { forgetBefore: null }],
  ];
  test.each(wrong)("refuses %s", async (_, parts) => {
    await expect(ShardChain.from({ shards: [], ...parts })).rejects.toMatchObject({ code: "bad-snapshot" });
  });
});

test("an item with several ids is refused: on a server it has one", async () => {
  const chain = await createChain();
  const both = () => chain.filter([["repost", "original"]], { id: (ids) => ids as never });
  expect(both).toThrow(expect.objectContaining({ code: "bad-option" }) as Error);
});

/** A shard's reference without the tilde. */
function nameOf(shard: string): string {
  return xxh64(Buffer.from(shard)).toString(16).padStart(16, "0").slice(0, 12);
}

describe("references", () => {
  test("replace the shards that a request names as held", async () => {
    const chain = await createChain({ capacity: 100 });
    chain.record(idsOf("item", 250), { now: NOW });
    const whole = chain.snapshot({ now: NOW });
    const names = whole.shards.map(nameOf);
    const sent = chain.snapshot({ now: NOW, held: [names[2], "000000000000", names[0]].join(".") });
    expect(sent).toEqual({ ...whole, shards: [`~${names[0] ?? ""}`, whole.shards[1], `~${names[2] ?? ""}`] });

    const { guard } = await openGuard();
    guard.apply(whole);
    expect(heldBy(guard)).toBe(names.join("."));
    chain.record("another", { now: NOW });
    const next = chain.snapshot({ now: NOW, held: heldBy(guard) });
    expect(next.shards.map((shard) => String(shard).startsWith("~"))).toEqual([false, true, true]);
    expect(guard.apply(next)).toMatchObject({ applied: true });
    expect(guard.filter([...idsOf("item", 250), "another"])).toEqual([]);
  });

  test("are not searched in an oversized request", async () => {
    const chain = await createChain({ capacity: 10 });
    chain.record(idsOf("item", 25), { now: NOW });
    const whole = chain.snapshot({ now: NOW });
    const name = nameOf(whole.shards[0] ?? "");
    const timeOf = (held: string | undefined) => {
      const times = Array.from({ length: 9 }, () => {
        const start = performance.now();
        expect(chain.snapshot({ now: NOW, ...(held === undefined ? {} : { held }) })).toEqual(whole);
        return performance.now() - start;
      });
      return Math.min(...times);
    };
    const without = timeOf(undefined);
    for (const held of [
      "~".repeat(10_000_000),
      `${name}.`.repeat(800_000),
      ".".repeat(1_000_000),
      "\uD800".repeat(832),
    ])
      expect(timeOf(held)).toBeLessThan(without + 1);
    // The names of 64 shards are read.
    const longest = [...Array<string>(63).fill("000000000000"), name].join(".");
    expect(longest).toHaveLength(831);
    expect(chain.snapshot({ now: NOW, held: longest }).shards[0]).toBe(`~${name}`);
  });
});
