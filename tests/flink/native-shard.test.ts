/** `NativeShard.java` agrees with the vectors of the native format: answers, bytes, and what is refused. */
import { ShardChain } from "seenguard/server";
import { beforeAll, describe, expect, test } from "vitest";
import { Random, readVectors } from "../node/support.ts";
import { base64, buildDriver } from "./driver.ts";

let drive: (commands: readonly string[]) => Promise<string[]>;
beforeAll(async () => {
  drive = await buildDriver("native-shard");
});

describe.each(["native", "native-edges"] as const)("every shard of %s.json", (name) => {
  const { ids, cases } = readVectors(name);
  const all = ids.map(base64).join(" ");

  test("is read, answers as its writer does, and is written byte for byte", async () => {
    const answers = await drive(cases.flatMap(({ base64 }) => [`decode ${base64}`, `contains ${all}`, "encode"]));
    expect(cases.length).toBeGreaterThan(9);
    for (const [index, { bits, hashes, seed, epoch, expires, count, ...written }] of cases.entries()) {
      const [fields, answered, encoded] = answers.slice(3 * index);
      expect(fields).toBe([bits, hashes, seed, epoch, expires, count].join(" "));
      expect(answered).toBe(written.answers);
      expect(encoded).toBe(written.base64);
    }
  });

  test("is made of the same ids byte for byte", async () => {
    const commands = cases.flatMap(({ bits, hashes, seed, epoch, expires, inserted }) => [
      `begin ${[bits, hashes, seed, epoch, expires].join(" ")}`,
      inserted === 0 ? "contains" : `insert ${ids.slice(0, inserted).map(base64).join(" ")}`,
      "encode",
    ]);
    const answers = await drive(commands);
    for (const [index, { base64, count }] of cases.entries()) {
      expect(Array.from(answers[3 * index + 1] ?? "").filter((answer) => answer === "1")).toHaveLength(count);
      expect(answers[3 * index + 2]).toBe(base64);
    }
  });
});

describe("what is refused", () => {
  /** Why the package does not take a text as a stored shard; "" if it does. */
  async function codeOf(text: string): Promise<string> {
    const chain = await ShardChain.from([text]);
    const code = chain.rejected[0]?.reason ?? "";
    chain.free();
    return code;
  }

  async function expectSameCodes(texts: readonly string[]): Promise<Set<string>> {
    const answers = await drive(texts.map((text) => `decode ${text}`));
    const codes = answers.map((answer) => (answer.includes(" ") ? "" : answer));
    expect(codes).toEqual(await Promise.all(texts.map(codeOf)));
    return new Set(codes);
  }

  test("are damaged texts, with the code that the package gives", async () => {
    const random = new Random(15);
    const texts = readVectors("native-edges").cases.flatMap(({ base64 }) => {
      const place = random.below(base64.length);
      const withBadBits = base64.replace(
        /(.)(=*)$/,
        (_, last: string, end: string) => (last === "/" ? "+" : "/") + end,
      );
      return [
        ...["", base64.slice(0, place), base64.slice(place), `${base64}=`, `${base64}A`, `${base64}-`, withBadBits],
        base64.replace(/=+$/, ""),
        base64.replaceAll("+", "-").replaceAll("/", "_"),
        `${base64.slice(0, place)}é${base64.slice(place + 1)}`,
        `${base64.slice(0, place)}${base64[place] === "A" ? "B" : "A"}${base64.slice(place + 1)}`,
      ];
    });
    const codes = await expectSameCodes(texts);
    expect([...codes].sort()).toEqual(["", "bad-base64", "bad-checksum", "bad-magic", "truncated"]);
  });

  test("are damaged headers and payloads under a right checksum", async () => {
    const random = new Random(16);
    const bodies = readVectors("native-edges").cases.flatMap(({ base64 }) => {
      const body = Buffer.from(base64, "base64").subarray(0, -4);
      const flipped = Array.from({ length: 60 }, () => {
        const damaged = Buffer.from(body);
        const place = 4 + random.below(damaged.length - 4);
        damaged.writeUInt8(damaged.readUInt8(place) ^ (1 << random.below(8)), place);
        return damaged;
      });
      return [...flipped, body.subarray(0, -1), Buffer.concat([body, Buffer.of(0)])];
    });
    const texts = await drive(bodies.map((body) => `seal ${body.toString("base64")}`));
    const codes = await expectSameCodes(texts);
    expect([...codes].sort()).toEqual(["", "bad-encoding", "bad-parameters", "bad-payload"]);
  });
});
