/** The Go examples of docs/other-languages.md, compiled by the real Go, with the real library and a real Redis. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ShardChain, type ShardFormat, type Snapshot } from "seenguard/server";
import { startRedis, type RunningRedis } from "../../support/processes.ts";
import { casesOf, ids as allIds } from "../../vectors/foreign.ts";
import { answersOf, buildGo, exampleOf, expectReferences, ids, makeTempDirectory, run } from "./tools.ts";

const directory = makeTempDirectory();
afterAll(directory.remove);

test("the examples are formatted as Go's are", async () => {
  for (const kind of ["go snapshot", "go list"]) {
    const code = exampleOf(kind);
    expect(await run("gofmt", [], { cwd: directory.path, input: code })).toBe(code);
  }
});

describe("bits-and-blooms", () => {
  interface Result {
    readonly snapshot: Snapshot;
    readonly json: string;
    readonly answers: boolean[];
  }
  let program = "";
  beforeAll(async () => {
    program = await buildGo(directory.path, ["go snapshot"], "bloom.go");
  });

  async function drive(task: object): Promise<Result> {
    const input = JSON.stringify({ Filters: 1, ...task });
    return JSON.parse(await run(program, [], { cwd: directory.path, input })) as Result;
  }

  test.each([
    { capacity: 1000, rate: 0.001, inserted: 1000 },
    { capacity: 500, rate: 0.05, inserted: 900 },
    { capacity: 3, rate: 0.3, inserted: 3 },
    { capacity: 10, rate: 0.01, inserted: 0 },
  ])("the guard answers as the library for $capacity items at $rate", async ({ capacity, rate, inserted }) => {
    const result = await drive({ Capacity: capacity, Rate: rate, Insert: ids.slice(0, inserted), Ask: ids });
    expect(result.answers).toHaveLength(ids.length);
    expect(result.answers.slice(0, inserted)).not.toContain(false);
    expect(await answersOf(result.snapshot)).toEqual(result.answers);
    expect(await answersOf({ format: "bits-and-blooms", shards: [result.json] })).toEqual(result.answers);
  });

  test("a device resolves references to its shards", async () => {
    const task = { Filters: 3, Capacity: 100, Rate: 0.01, Insert: ids.slice(0, 250), Ask: ids };
    const whole = await expectReferences(async (held) => (await drive({ ...task, Held: held })).snapshot);
    expect(await answersOf(whole)).toEqual((await drive(task)).answers);
  });
});

describe("a list of records in Redis", () => {
  const format: ShardFormat = { kind: "go-bloomfilter", capacity: 1000, falsePositiveRate: 0.001 };
  let redis: RunningRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  test("is sent as stored, has the results of the library that wrote it, and is continued by a ShardChain", async () => {
    const program = await buildGo(directory.path, ["go snapshot", "go list"], "list.go");
    const send = async (held = "") =>
      JSON.parse(await run(program, [redis.url, "ada", held], { cwd: directory.path })) as Snapshot & {
        shards: string[];
      };
    expect(await send()).toEqual({ format, shards: [] });

    const [written] = casesOf("go-bloomfilter");
    if (written === undefined) throw new Error("there is no vector");
    await redis.client.rpush("seen:ada", ...written.records);
    const first = await send();
    expect(first).toEqual({ format, shards: written.records });
    expect(await answersOf(first, allIds)).toEqual(Array.from(written.answers, (answer) => answer === "1"));

    const chain = await ShardChain.from(first.shards, { format });
    expect(chain.rejected).toEqual([]);
    chain.record(["one more", "and another"]);
    const { shards } = chain.snapshot();
    chain.free();
    await redis.client
      .multi()
      .del("seen:ada")
      .rpush("seen:ada", ...shards)
      .exec();
    const next = await send();
    expect(await answersOf(next, ["one more", "and another", "never seen"])).toEqual([true, true, false]);
    expect(next.shards.slice(1)).toEqual(written.records.slice(1));
    expect(await expectReferences(send)).toEqual(next);
  });
});
