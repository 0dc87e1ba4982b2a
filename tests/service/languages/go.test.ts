/** The Go example of docs/other-languages.md with the real library, compiled by the real Go. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Snapshot } from "seenguard/server";
import { answersOf, buildGo, exampleOf, expectReferences, ids, makeTempDirectory, run } from "./tools.ts";

const directory = makeTempDirectory();
afterAll(directory.remove);

test("the example is formatted as Go's are", async () => {
  const code = exampleOf("go snapshot");
  expect(await run("gofmt", [], { cwd: directory.path, input: code })).toBe(code);
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
