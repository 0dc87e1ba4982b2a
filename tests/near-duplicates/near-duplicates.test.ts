/** `simhash` and `NearDuplicates`, compared with the fingerprints and groups of an independent implementation. */
import { readFileSync } from "node:fs";
import { NearDuplicates, simhash } from "seenguard/near-duplicates";
import { describe, expect, onTestFinished, test } from "vitest";
import { withMaximumMemory } from "../limits/maximum-memory.js";
import { serverWith } from "../support/realm.js";

type Feature = string | readonly [text: string, weight: number];
interface Vectors {
  readonly cases: readonly { readonly features: readonly Feature[]; readonly fingerprint: string }[];
  readonly fingerprints: readonly string[];
  readonly grouped: readonly { readonly distance: number; readonly groups: readonly string[] }[];
}
const vectors = JSON.parse(readFileSync(new URL("../vectors/simhash.json", import.meta.url), "utf8")) as Vectors;

async function createGroups(options?: { distance?: number }): Promise<NearDuplicates> {
  const groups = await NearDuplicates.create(options);
  onTestFinished(() => groups.free());
  return groups;
}

/** The error for refused input. */
function refusal(message: RegExp): Error {
  return expect.objectContaining({ code: "bad-option", message: expect.stringMatching(message) as string }) as Error;
}

describe("simhash", () => {
  test("agrees with the reference, before anything was awaited", () => {
    for (const { features, fingerprint } of vectors.cases) expect(simhash(features)).toBe(fingerprint);
  });

  test("accepts any iterable of features, whose default weight is 1", () => {
    const words = ["harbour", "bridge", "opens"];
    const expected = simhash(words);
    expect(simhash(new Set(words))).toBe(expected);
    expect(simhash(words.values())).toBe(expected);
    expect(simhash(words.map((word) => [word, 1] as const))).toBe(expected);
    expect(simhash(["harbour", ["bridge", 1], "opens"])).toBe(expected);
    expect(simhash(["harbour", ["bridge", 2], "opens"])).toBe(simhash(["bridge", ...words]));
  });

  test.each<[string, unknown, RegExp]>([
    ["a string", "harbour bridge", /list of features/],
    ["nothing", undefined, /list of features/],
    ["null", null, /list of features/],
    ["a number", 7, /list of features/],
    ["an object", { harbour: 1 }, /list of features/],
    ["a number as feature", [7], /a string, or a list of a string and its weight/],
    ["null as feature", [null], /a string, or a list of a string and its weight/],
    ["a hole", new Array(1), /a string, or a list of a string and its weight/],
    ["a feature without its weight", [["a"]], /a string, or a list of a string and its weight/],
    ["a string as weight", [["a", "1"]], /a string, or a list of a string and its weight/],
    ["a negative weight", [["a", -1]], /weight must be a number from 0 to 2\^53/],
    ["a weight that is not a number", [["a", NaN]], /weight must be a number from 0 to 2\^53/],
    ["an infinite weight", [["a", Infinity]], /weight must be a number from 0 to 2\^53/],
  ])("refuses %s", (_, features, message) => {
    expect(() => simhash(features as Feature[])).toThrow(refusal(message));
    expect(simhash(["one"])).toBe("363b02a42408a1f6");
  });
});

describe("near-duplicates", () => {
  test.each(vectors.grouped)(
    "within $distance bits are in the groups of the reference",
    async ({ distance, groups }) => {
      const near = await createGroups({ distance });
      const grouped = vectors.fingerprints.map((fingerprint, index) =>
        near.groupOf(fingerprint, `item-${String(index)}`),
      );
      expect(grouped).toEqual(groups);
    },
  );

  test.each<[string, unknown]>([
    ["a distance over 3", { distance: 4 }],
    ["a distance below 0", { distance: -1 }],
    ["half a bit", { distance: 0.5 }],
    ["a string", { distance: "3" }],
    ["an unknown option", { bits: 3 }],
    ["no object", 3],
    ["null", null],
  ])("refuse %s", async (_, options) => {
    await expect(NearDuplicates.create(options as { distance: number })).rejects.toMatchObject({ code: "bad-option" });
  });

  test.each([
    "",
    "0",
    "+123456789abcdef",
    "0x23456789abcdef",
    "00000000000000fg",
    "000000000000000é",
    "00000000000000000",
    255,
    255n,
    undefined,
  ])("refuse the fingerprint %o", async (fingerprint) => {
    const near = await createGroups();
    expect(() => near.groupOf(fingerprint as string, "id")).toThrow(refusal(/16 hexadecimal digits/));
    expect(near.groupOf("0000000000000000", "id")).toBe("id");
  });

  test.each(["", 1, 2n, null, undefined, ["a"]])("refuse the id %o", async (id) => {
    const near = await createGroups();
    expect(() => near.groupOf("0000000000000000", id as string)).toThrow(refusal(/an id must be a string/));
    expect(near.groupOf("0000000000000000", "id")).toBe("id");
  });

  test("that were freed refuse every call but `free`", async () => {
    const near = await NearDuplicates.create();
    near.groupOf("0000000000000000", "a");
    near.free();
    near.free();
    expect(() => near.groupOf("0000000000000000", "a")).toThrow(refusal(/were freed/));
  });
});

describe("near-duplicates without memory left", () => {
  // The first allocation that fails is a large one or a small one.
  test.each([72, 94, 100, 118])("refuse more, and `free` frees the memory (%i pages)", async (pages) => {
    const { NearDuplicates } = serverWith((wasm) => withMaximumMemory(wasm, pages));
    const near = await NearDuplicates.create();
    let added = 0;
    const fill = () => {
      // The fingerprint of one feature is its hash.
      for (; ; added++) near.groupOf(simhash([`feature ${String(added)}`]), `item ${String(added)}`);
    };
    const full = expect.objectContaining({ code: "too-large" }) as Error;
    expect(fill).toThrow(full);
    const before = added;
    expect(before).toBeGreaterThan(1000);
    for (let again = 0; again < 1000; again++) expect(fill).toThrow(full);
    expect(added).toBe(before);
    await expect(NearDuplicates.create()).rejects.toMatchObject({ code: "too-large" });
    near.free();
    const again = await NearDuplicates.create();
    expect(again.groupOf(simhash(["feature 0"]), "again")).toBe("again");
  });
});
