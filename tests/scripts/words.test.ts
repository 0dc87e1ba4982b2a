/** The step `words`: which words it finds, and that their counts only shrink. */
import { expect, test } from "vitest";
import { count, grown, shrunk } from "../../scripts/test/words.mjs";

const patterns = { apple: "\\bapples?\\b", "pear tree": "\\bpear tree\\b" };

test("a word counts in prose, in names and over the lines of a comment, and not in other words", () => {
  const files = [
    { path: "js/fruit/names.ts", text: "const pearTree = apples;\n// A pear\n// tree.\n" },
    { path: "js/other.rs", text: "/// An apple, a pear_tree.\nfn pineapple() {}\n" },
    { path: "README.md", text: "Apples grow." },
  ];
  expect(count(patterns, files)).toEqual({ apple: { js: 2, root: 1 }, "pear tree": { js: 3 } });
});

test("a count that grows is named, with the one before; a new pattern has to be counted", () => {
  const now = { apple: { js: 3, src: 1 }, "pear tree": { js: 1 } };
  expect(grown({ apple: { js: 2, src: 1 } }, now)).toEqual([
    '"apple": 3 in js, 2 before',
    '"pear tree" is not counted yet',
  ]);
  expect(grown({ apple: { js: 4 } }, { apple: { src: 1 } })).toEqual(['"apple": 1 in src, 0 before']);
});

test("an update lowers counts, never raises them, and adds those of a new pattern", () => {
  const before = { apple: { js: 2, lab: 1, src: 5 } };
  const now = { apple: { js: 3, src: 4, www: 1 }, "pear tree": { js: 1 } };
  expect(shrunk(before, now)).toEqual({ apple: { js: 2, src: 4 }, "pear tree": { js: 1 } });
});
