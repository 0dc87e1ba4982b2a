/** examples/near-duplicates: what its features are, what it groups, and that the docs hold what the lab measures. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { canonicalAddress, StoryGroups } from "../../examples/near-duplicates/stories.ts";
import { measure } from "../../lab/near-duplicates/tables.ts";
import { readPage, root } from "../docs/examples.ts";

const MEASURING_MS = 300_000;
/** In points. Another version of ICU may cut Chinese text elsewhere, another package may have other texts. */
const TOLERANCE = 3;

describe("groups of stories", () => {
  test.each([
    "http://www.heron.example/seals/",
    "https://m.heron.example/seals?utm_source=share&fbclid=1#photos",
    "https://heron.example/seals?gclid=2",
  ])("%s is the address of the same page", (url) => {
    expect(canonicalAddress(url)).toBe("https://heron.example/seals");
  });

  test("a short text has to have the same words, and no text at all is no copy of another", async () => {
    const groups = await StoryGroups.create();
    const texts = ["Seals are back!", "seals — are back", "Seals were back", "", "…"];
    const found = texts.map((text, id) =>
      groups.groupOf({ id: String(id), url: `https://a.example/${String(id)}`, text }),
    );
    expect(found).toEqual(["0", "0", "2", "3", "4"]);
    groups.free();
  });

  test("what was grouped before keeps its group, also when the first of it is gone", async () => {
    const text = Array.from({ length: 120 }, (_, number) => `word${String(number)}`).join(" ");
    const groups = await StoryGroups.create();
    expect(groups.groupOf({ id: "b", group: "a", url: "https://a.example/b", text })).toBe("a");
    expect(groups.groupOf({ id: "c", url: "https://c.example", text: `${text} word0` })).toBe("a");
    groups.free();
  });

  test("the program groups reposts and edited copies, in English and in Chinese", async () => {
    const program = ["--import", "tsx", "examples/near-duplicates/main.ts"];
    const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: root });
    expect(stdout.match(/^\[.*?\]/gm)).toEqual([
      '["heron-1","heron-1"]',
      '["phone-7","heron-1"]',
      '["otter-4","heron-1"]',
      '["heron-2","heron-2"]',
      '["bao-1","bao-1"]',
      '["kan-9","bao-1"]',
    ]);
  });
});

test("docs/near-duplicates.md has what is measured", { timeout: MEASURING_MS }, async () => {
  const { text } = readPage("docs/near-duplicates.md");
  for (const [name, measured] of Object.entries(await measure())) {
    const documented = new RegExp(`<!-- measured ${name} -->\n([^]*?)<!-- /measured -->`).exec(text)?.[1] ?? "";
    const [rows, expected] = [rowsOf(documented), rowsOf(measured)];
    expect(rows.map(withoutFigures), name).toEqual(expected.map(withoutFigures));
    rows.forEach((row, place) => {
      figuresOf(row).forEach((figure, at) => {
        const now = figuresOf(expected[place])[at] ?? NaN;
        const difference = Math.abs(figure - now);
        expect(difference, `${name}: ${row}; measured: ${String(now)}`).toBeLessThanOrEqual(
          Math.max(TOLERANCE, (TOLERANCE / 100) * now),
        );
      });
    });
  }
});

/** The rows of a table below its head, however its columns are padded. */
function rowsOf(table: string): string[] {
  const lines = table.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => line.replaceAll(/ +/g, " "));
}

const figuresOf = (row = ""): number[] =>
  [...row.matchAll(/\d+(?:\.\d+)?(?=%| [/|])/g)].map(([figure]) => Number(figure));
const withoutFigures = (row: string): string => row.replaceAll(/\d+(?:\.\d+)?(?=%| [/|])/g, "n");
