/** The Python examples of docs/other-languages.md: redis-py with a real RedisBloom; a writer of the native format. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SeenGuard, type Snapshot } from "seenguard";
import { memoryStore } from "seenguard/server";
import { redisBloomModule } from "../../../scripts/lib/servers.mjs";
import { startRedis, type RunningRedis } from "../../support/processes.ts";
import { Device, deviceName } from "../../support/shards.ts";
import { readVectors } from "../../support/node.ts";
import { answersOf, expectReferences, ids, makeTempDirectory, preparePython } from "./tools.ts";

describe("RedisBloom", () => {
  const directory = makeTempDirectory();
  afterAll(directory.remove);
  let redis: RunningRedis;
  beforeAll(async () => {
    redis = await startRedis({ loadmodule: redisBloomModule() });
  });
  afterAll(() => redis.stop());

  interface Filter {
    readonly capacity: number;
    readonly rate: number;
    readonly nonscaling?: boolean;
    readonly insert: readonly string[];
  }

  interface Result {
    readonly snapshot: Snapshot & { shards: string[][] };
    readonly answers: boolean[];
  }

  async function fillAndServe(filters: Record<string, Filter>, held = ""): Promise<Result> {
    await redis.client.flushall();
    const drive = preparePython(directory.path, "snapshot", "bloom.py");
    return JSON.parse(await drive([redis.url], JSON.stringify({ filters, ask: ids, held }))) as Result;
  }

  /** Fills the filters, and expects that a guard with their dumps has the results of Redis. */
  async function expectAgreement(filters: Record<string, Filter>): Promise<Snapshot & { shards: string[][] }> {
    const result = await fillAndServe(filters);
    expect(result.answers).toHaveLength(ids.length);
    for (const id of Object.values(filters).flatMap(({ insert }) => insert))
      expect(result.answers[ids.indexOf(id)]).toBe(true);
    expect(await answersOf(result.snapshot)).toEqual(result.answers);
    expect(result.snapshot.shards).toHaveLength(Object.keys(filters).length);
    return result.snapshot;
  }

  test("filters that are full, not full yet, without growth and empty, of one user", async () => {
    await expectAgreement({
      newest: { capacity: 1000, rate: 0.001, insert: ids.slice(1000, 1300) },
      older: { capacity: 1000, rate: 0.001, insert: ids.slice(0, 1000) },
      fixed: { capacity: 500, rate: 0.05, nonscaling: true, insert: ids.slice(0, 500) },
      empty: { capacity: 10, rate: 0.01, insert: [] },
    });
  });

  test("a filter that has grown four times", async () => {
    const { shards } = await expectAgreement({ a: { capacity: 100, rate: 0.01, insert: ids.slice(0, 1500) } });
    // The number of filters in the header.
    expect(Buffer.from(shards[0]?.[0] ?? "", "base64").readUInt32LE(8)).toBe(4);
  });

  test("a device resolves references to its shards", async () => {
    const filters = {
      // It has grown, so that its dump has several chunks.
      newest: { capacity: 100, rate: 0.01, insert: ids.slice(1000, 1500) },
      older: { capacity: 1000, rate: 0.001, insert: ids.slice(0, 1000) },
    };
    await expectReferences(async (held) => (await fillAndServe(filters, held)).snapshot);
  });
});

describe("the native format, written in Python by the documentation alone", () => {
  const directory = makeTempDirectory();
  afterAll(directory.remove);
  const { cases, ids: all } = readVectors("native");

  test("equals the raw vectors byte for byte, and has the results of the others", async () => {
    const drive = preparePython(directory.path, "native", "write.py");
    const wanted = cases.map(({ bits, hashes, seed, epoch, inserted }, index) => ({
      ...{ bits, hashes, seed, epoch, expires: expiryOf(cases[index]?.base64 ?? "") },
      insert: all.slice(0, inserted),
    }));
    const result = JSON.parse(await drive([], JSON.stringify({ shards: wanted }))) as {
      shards: { base64: string; count: number }[];
      check: number[];
    };
    expect(result.check).toEqual([9463854, 12854560, 11048003, 12453532, 11873883]);
    expect(result.shards.map(({ count }) => count)).toEqual(cases.map(({ count }) => count));
    const isRaw = ({ base64 }: { base64: string }) => Buffer.from(base64, "base64")[4] === 0;
    expect(cases.filter(isRaw).length).toBeGreaterThan(3);
    for (const [index, { base64 }] of result.shards.entries()) {
      const vector = cases[index];
      if (vector === undefined) throw new Error("more shards than vectors");
      if (isRaw(vector)) expect(base64).toBe(vector.base64);
      const answers = await answersOf({ shards: [base64], now: 0 }, all);
      expect(answers).toEqual(Array.from(vector.answers, (answer) => answer === "1"));
    }
  });

  function expiryOf(base64: string): number {
    return Buffer.from(base64, "base64").readUInt32LE(28);
  }
});

describe("devices' pending impressions, stored in Python", () => {
  const directory = makeTempDirectory();
  afterAll(directory.remove);
  const [NOW, DAY] = [1_764_000_000, 86_400];
  const namespace = "home:ada";

  /** Stores the lists, and returns for each id whether the page for the device of the last one leaves it out. */
  async function serve(headers: [at: number, header: string][], { forgetBefore = 0, ask = ids } = {}) {
    const drive = preparePython(directory.path, "pending", "store.py");
    const result = JSON.parse(await drive([], JSON.stringify({ headers, forgetBefore, ask }))) as {
      answers: boolean[];
      devices: string[];
    };
    return { ...result, leftOut: ask.filter((_, index) => result.answers[index]) };
  }

  test.each([1, 3, 40, 900])("leaves out the same ids as a guard and a store, of %i pending ids", async (count) => {
    const guard = await SeenGuard.open({ namespace, storage: "none" });
    guard.record(ids.slice(0, count));
    const { "Seen-Pending": unnamed = "" } = guard.headers();
    await guard.close();
    const phone = deviceName(namespace, 1) + unnamed;
    const page = await memoryStore().page("ada", ids, { size: ids.length, pending: phone });
    const wanted = ids.filter((id) => !page.items.includes(id));
    expect(wanted).toEqual(expect.arrayContaining(ids.slice(0, count)));

    const laptop = `${deviceName(namespace, 2)}.1.0.`;
    for (const headers of [[phone], [phone, laptop], [unnamed]]) {
      const served = await serve(headers.map((sent) => [NOW, sent]));
      expect(served.leftOut).toEqual(wanted);
    }
  });

  test("stores the latest list of each device, of 8 devices, for 2 days", async () => {
    const [one, two] = [new Device(namespace, 1), new Device(namespace, 2)];
    const [a = "", b = "", c = ""] = ids;
    const [older, newer, empty] = [one.pending([a]), one.pending([b]), one.pending([])];
    const other = two.pending([c]);
    const ask = [a, b, c];
    const leftOut = async (...headers: [number, string][]) => (await serve(headers, { ask })).leftOut;
    expect(await leftOut([NOW, newer], [NOW, older], [NOW, other])).toEqual([b, c]);
    expect(await leftOut([NOW, newer], [NOW, empty], [NOW, other])).toEqual([c]);
    expect(await leftOut([NOW, newer], [NOW + 2 * DAY + 1, other])).toEqual([c]);
    expect(await leftOut([NOW, newer], [NOW, "no list"])).toEqual([b]);
    const nine = ids.slice(0, 9).map((id, number) => new Device(namespace, number).pending([id]));
    const { devices } = await serve(nine.map((header, index) => [NOW + index, header]));
    expect(devices).toEqual([8, 7, 6, 5, 4, 3, 2, 1].map((number) => deviceName(namespace, number)));
  });

  test("ignores lists that are damaged or from before a deletion", async () => {
    const [a = ""] = ids;
    const header = new Device(namespace, 1).pending([a]);
    for (const sent of [header.slice(0, -1), header.slice(1), `${header}=`, header.replace(/\.0\./, "."), "", ".0.0."])
      expect((await serve([[NOW, sent]], { ask: [a] })).leftOut).toEqual([]);
    expect((await serve([[NOW, header]], { ask: [a], forgetBefore: 1 })).leftOut).toEqual([]);
    expect((await serve([[NOW, header]], { ask: [a] })).leftOut).toEqual([a]);
  });
});
