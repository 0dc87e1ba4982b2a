/** The Java examples of docs/other-languages.md with the real Guava. Guava reads what ShardChain writes. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ShardChain, type Snapshot } from "seenguard/server";
import { answersOf, base64, buildJava, expectReferences, ids, makeTempDirectory } from "./tools.ts";

describe("Guava", () => {
  const directory = makeTempDirectory();
  let drive: (input: string) => Promise<string>;
  beforeAll(async () => {
    drive = await buildJava(directory.path, ["Snapshot"], "Filters");
  });
  afterAll(directory.remove);

  /** Runs the lines. Returns Guava's snapshot, and its result for each id. */
  async function guava(
    lines: readonly string[],
  ): Promise<{ snapshot: Snapshot & { shards: string[] }; answers: boolean[] }> {
    const queries = ids.map((id) => `ask ${base64(id)}`);
    const [snapshot = "", answers = ""] = (await drive([...lines, ...queries].join("\n"))).split("\n");
    return {
      snapshot: JSON.parse(snapshot) as Snapshot & { shards: string[] },
      answers: Array.from(answers, (answer) => answer === "1"),
    };
  }
  const put = (inserted: readonly string[]) => inserted.map((id) => `put ${base64(id)}`);

  test.each([
    { capacity: 1000, rate: 0.001, inserted: 1000 },
    { capacity: 500, rate: 0.05, inserted: 900 },
    { capacity: 1, rate: 0.5, inserted: 1 },
    { capacity: 10, rate: 0.01, inserted: 0 },
  ])("the guard answers as Guava for $capacity items at $rate", async ({ capacity, rate, inserted }) => {
    const { snapshot, answers } = await guava([
      `new ${String(capacity)} ${String(rate)}`,
      ...put(ids.slice(0, inserted)),
    ]);
    expect(answers).toHaveLength(ids.length);
    expect(answers.slice(0, inserted)).not.toContain(false);
    expect(await answersOf(snapshot)).toEqual(answers);
  });

  test("a device resolves references to its shards", async () => {
    const filters = [0, 1, 2].flatMap((index) => ["new 100 0.01", ...put(ids.slice(80 * index, 80 * index + 80))]);
    const whole = await expectReferences(async (held) => (await guava([...filters, `held ${held}`])).snapshot);
    expect(await answersOf(whole)).toEqual((await guava(filters)).answers);
  });

  test.each([
    { capacity: 1000, rate: 0.001, inserted: 3500 },
    { capacity: 40, rate: 0.02, inserted: 130 },
  ])(
    "Guava reads a ShardChain of $capacity items a shard and answers as the chain",
    async ({ capacity, rate, inserted }) => {
      const chain = await ShardChain.create({ format: "guava", capacity, falsePositiveRate: rate });
      chain.record(ids.slice(0, inserted));
      const shards = chain.snapshot().shards;
      expect(shards.length).toBeGreaterThan(3);
      const { snapshot, answers } = await guava([...shards].reverse().map((shard) => `read ${shard}`));
      expect(answers).toEqual(ids.map((id) => chain.has(id)));
      // Guava reads them and writes the same bytes.
      expect(snapshot.shards).toEqual(shards);
      chain.free();
    },
  );

  test("a ShardChain continues a filter that Guava wrote, and Guava continues the result", async () => {
    const { snapshot } = await guava(["new 1000 0.001", ...put(ids.slice(0, 400))]);
    const chain = await ShardChain.from(snapshot.shards, { format: "guava" });
    expect(chain.rejected).toEqual([]);
    chain.record(ids.slice(400, 800));
    const shards = chain.snapshot().shards;
    expect(shards).toHaveLength(1);
    chain.free();
    const again = await guava([`read ${shards[0] ?? ""}`, ...put(ids.slice(800, 900))]);
    expect(again.answers.slice(0, 900)).not.toContain(false);
    expect(await answersOf(again.snapshot)).toEqual(again.answers);
  });
});
