/** `npx seenguard inspect` as a process: every format, every form of input, and damaged shards. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Snapshot } from "seenguard";
import { ShardChain } from "seenguard/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Inspected } from "../../js/cli/inspect/inspect.ts";
import { casesOf, ids } from "../vectors/foreign.ts";
import { runCommand } from "../support/processes.js";
import { readVectors } from "../support/node.ts";

const natives = readVectors("native").cases;
const nativeText = natives[0]?.base64 ?? "";

async function inspect(args: readonly string[], input = ""): Promise<Inspected> {
  const { status, stdout, stderr } = await runCommand(["inspect", "--json", ...args], input);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as Inspected;
}

/** Some ids of a case, with the expected result of each. They are passed as arguments, which cannot contain NUL. */
function someIds(answers: string): { queried: string[]; expected: boolean[] } {
  const usable = ids
    .map((id, index) => ({ id, answer: answers[index] === "1" }))
    .filter(({ id }) => !/[\0\t]|\p{Surrogate}/u.test(id));
  const chosen = usable.filter((_, index) => index % 40 === 0);
  return { queried: chosen.map(({ id }) => id), expected: chosen.map(({ answer }) => answer) };
}

describe("a native shard", () => {
  test("is described in words", async () => {
    const { status, stdout, stderr } = await runCommand(["inspect", nativeText]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^shard 0: seenguard\n/);
    for (const line of [
      /^ {2}bits \(m\) +14,378$/m,
      /^ {2}hashes \(k\) +10$/m,
      /^ {2}count +1,000$/m,
      /^ {2}fill +\d+\.\d% \([\d,]+ bits set\)$/m,
      /^ {2}estimated items +[\d,]+$/m,
      /^ {2}false positive rate +0\.000\d+ \(1 in [\d,]+\)$/m,
      /^ {2}epoch +1$/m,
      /^ {2}expiry +never$/m,
      /^ {2}encoding +raw$/m,
      /^ {2}size +1,834 bytes, 1\.\d\d times the information limit n·log2\(1\/ε\) of [\d,]+ bytes$/m,
    ])
      expect(stdout).toMatch(line);
  });
});

/** A case of each format, in each form of input. */
describe("of every format", () => {
  const first = <T>(cases: readonly T[]) => cases[0] as T;
  const [native, guava, bits] = [first(natives), first(casesOf("guava")), first(casesOf("bits-and-blooms"))];
  const [redis, go] = [first(casesOf("redisbloom")), first(casesOf("go-bloomfilter"))];
  const chunks = redis.scandump.map(([, chunk]) => chunk);
  const { hashes, capacity, false_positive_rate: rate } = go;
  const sizes = ["--capacity", String(capacity), "--rate", String(rate)];
  const ofRate = { kind: "go-bloomfilter", capacity, falsePositiveRate: rate };

  test.each<[name: string, { answers: string }, input: string, format: unknown, options?: readonly string[]]>([
    // Two others of the vectors expire in 1970.
    ["seenguard", native, JSON.stringify({ shards: [native.base64], now: 0 }), "seenguard"],
    ["guava", guava, guava.base64, "guava"],
    ["bits-and-blooms, binary", bits, bits.base64, "bits-and-blooms"],
    ["bits-and-blooms as JSON", bits, bits.json, "bits-and-blooms"],
    ["redisbloom, pairs", redis, JSON.stringify(redis.scandump), "redisbloom"],
    ["redisbloom, chunks", redis, chunks.join(","), "redisbloom"],
    ["redisbloom, a list of chunks", redis, JSON.stringify([chunks]), "redisbloom"],
    ["go-bloomfilter, k", go, go.records.join("\n"), { kind: "go-bloomfilter", hashes }, ["--hashes", String(hashes)]],
    ["go-bloomfilter, sizes", go, go.records.join("\n"), ofRate, ["--format", "go-bloomfilter", ...sizes]],
  ])("%s has the results of the library that wrote it", async (_, { answers }, input, format, options = []) => {
    const { queried, expected } = someIds(answers);
    const { shards, has } = await inspect([...options, ...queried.map((id) => `--has=${id}`)], input);
    expect(has.map(({ contained }) => contained)).toEqual(expected);
    expect(has.map(({ id }) => id)).toEqual(queried);
    expect(new Set(shards.map((shard) => JSON.stringify(shard.format)))).toEqual(new Set([JSON.stringify(format)]));
  });
});

describe("its input", () => {
  let directory = "";
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "seenguard-inspect-"));
  });
  afterAll(() => rm(directory, { recursive: true }));

  async function fileWith(content: string): Promise<string> {
    const file = join(directory, `${String(Math.random())}.txt`);
    await writeFile(file, content);
    return file;
  }
  async function snapshot(): Promise<Snapshot> {
    const chain = await ShardChain.create({ capacity: 10, ttlSeconds: 1000 });
    chain.record(ids.slice(0, 25), { now: 1_764_000_000 });
    const shipped = chain.snapshot({ now: 1_764_000_100 });
    chain.free();
    return shipped;
  }

  test("is an argument, a file, or the standard input", async () => {
    const file = await fileWith(`${nativeText}\n`);
    const [asArgument, asFile, asInput, asDash] = await Promise.all([
      inspect([nativeText]),
      inspect([file]),
      inspect([], nativeText),
      inspect(["-"], `\n${nativeText}\r\n`),
    ]);
    expect(asFile).toEqual(asArgument);
    expect(asInput).toEqual(asArgument);
    expect(asDash).toEqual(asArgument);
  });

  test("may be several shards: arguments, lines, the output of redis-cli, a list in JSON", async () => {
    const shards = (await snapshot()).shards as string[];
    expect(shards).toHaveLength(3);
    const numbered = shards.map((shard, index) => `${String(index + 1)}) "${shard}"`).join("\n");
    const all = await Promise.all([
      inspect(shards),
      inspect([], shards.join("\n")),
      inspect([], numbered),
      inspect([], JSON.stringify(shards)),
    ]);
    expect(all[0].shards.map(({ filters }) => filters?.[0]?.count)).toEqual([5, 10, 10]);
    for (const one of all) expect(one).toEqual(all[0]);
  });

  test("may be a snapshot, or a response with a snapshot and items", async () => {
    const seen = await snapshot();
    const queried = ["--has", ids[0] ?? "", ids[24] ?? "", "never seen"];
    const inspected = await inspect(queried, JSON.stringify(seen));
    expect(inspected.snapshot).toEqual({ version: seen.version, now: seen.now });
    expect(inspected.shards.map(({ expired }) => expired)).toEqual([false, false, false]);
    expect(inspected.has).toEqual([
      { id: ids[0], contained: true, shards: [2] },
      { id: ids[24], contained: true, shards: [0] },
      { id: "never seen", contained: false, shards: [] },
    ]);
    expect(await inspect(queried, JSON.stringify({ items: [], snapshot: seen }))).toEqual(inspected);
    const words = await runCommand(["inspect", JSON.stringify(seen), ...queried]);
    expect(words.stdout).toContain(
      `snapshot, version ${String(seen.version)}, server's clock 2025-11-24T16:01:40Z: 3 shards\n`,
    );
    expect(words.stdout).toMatch(/"never seen" +not contained\n/);
  });

  test("uses the format of the command line, else the one in the snapshot", async () => {
    const [guava] = casesOf("guava");
    const named: Snapshot = { format: "guava", shards: [guava?.base64 ?? ""] };
    expect((await inspect([], JSON.stringify(named))).shards[0]?.format).toBe("guava");
    const misnamed = JSON.stringify({ ...named, format: "seenguard" });
    expect((await runCommand(["inspect"], misnamed)).stderr).toContain("bad-magic: ");
    expect((await inspect(["--format", "guava"], misnamed)).shards[0]?.format).toBe("guava");
  });
});

describe("a damaged shard", () => {
  const broken = `${nativeText.slice(0, 400)}${nativeText[400] === "A" ? "B" : "A"}${nativeText.slice(401)}`;

  test("is reported with its code next to readable ones, with exit status 1", async () => {
    const { status, stdout, stderr } = await runCommand(["inspect", nativeText, broken, "--has", ids[0] ?? ""]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^seenguard: shard 1: bad-checksum: .* \(https:\S+#bad-snapshot\)\n$/);
    expect(stdout).toMatch(/^shard 1\n {2}damaged +bad-checksum: .* \(https:\S+#bad-snapshot\)$/m);
    expect(stdout).toContain("contained, in shard 0\n");
    const machine = await runCommand(["inspect", "--json", broken]);
    expect(machine.status).toBe(1);
    expect((JSON.parse(machine.stdout) as Inspected).shards[0]?.error?.message).toMatch(/^bad-checksum: /);
  });

  test.each([
    { what: "half a shard", args: [nativeText.slice(0, 40)], reason: "truncated" },
    { what: "something that is not base64", args: ["something else"], reason: "bad-base64" },
    { what: "a short Guava filter", args: ["--format", "guava", "AQoAAADhx81p45Uh"], reason: "bad-payload" },
    { what: "a record that counts no number", args: ["--hashes", "10", "many::AAAAAA=="], reason: "bad-parameters" },
    { what: "JSON that is cut", args: ['{"shards":["U0dT'], reason: "" },
    { what: "JSON of something else", args: ['{"items":[]}'], reason: "" },
    { what: "a snapshot with a wrong version", args: ['{"version":-1,"shards":[]}'], reason: "" },
    {
      what: "more shards than a guard accepts",
      args: [JSON.stringify({ shards: Array<string>(65).fill("A") })],
      reason: "too-large",
    },
    { what: "nothing at all", args: [], reason: "truncated" },
  ])("$what is $reason", async ({ args, reason }) => {
    for (const json of [[], ["--json"]]) {
      const { status, stdout, stderr } = await runCommand(["inspect", ...json, ...args]);
      expect(status).toBe(1);
      expect(stderr).toMatch(/^seenguard: .* \(https:\S+#bad-snapshot\)[^(]*\n$/);
      if (reason !== "") expect(stderr).toContain(`${reason}: `);
      if (json.length > 0) expect(stdout).toContain(`"code": "bad-snapshot"`);
    }
  });
});

describe("a wrong call", () => {
  test.each([
    { what: "an unknown option", args: ["inspect", "--verbose"] },
    { what: "an unknown format", args: ["inspect", "--format", "cuckoo", nativeText] },
    { what: "a word as a number", args: ["inspect", "--hashes", "ten", "1::AAAAAA=="] },
    { what: "go-bloomfilter without its k", args: ["inspect", "--format", "go-bloomfilter", "1::AAAAAA=="] },
    { what: "a record without an option for its k", args: ["inspect", "1::AAAAAA=="] },
    { what: "k for a format that contains it", args: ["inspect", "--format", "guava", "--hashes", "3", nativeText] },
    { what: "a file that is not there", args: ["inspect", "./nothing/here.json"] },
    { what: "two snapshots at once", args: ["inspect", '{"shards":[]}', '{"shards":[]}'] },
  ])("$what exits with status 2 and a message that names the remedy", async ({ args }) => {
    const { status, stdout, stderr } = await runCommand(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^seenguard: .* \(https:\S+#bad-option\); see seenguard inspect --help\n$/);
  });

  test("prints the error as JSON with --json", async () => {
    const { status, stdout } = await runCommand(["inspect", "--json", "--verbose"]);
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "bad-option" } });
  });

  test("--help lists every option", async () => {
    const { status, stdout, stderr } = await runCommand(["inspect", "--help"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    for (const option of ["format", "hashes", "capacity", "rate", "has", "json", "help"])
      expect(stdout).toContain(`--${option}`);
  });
});

test("an id that begins with a dash can be queried, and arguments after the next option are input again", async () => {
  const { has, shards } = await inspect(["--has=-dash", "b", "--format", "seenguard", nativeText]);
  expect(has.map(({ id }) => id)).toEqual(["-dash", "b"]);
  expect(shards).toHaveLength(1);
});
