/** The step `words`: in which texts it finds a word. */
import { expect, test } from "vitest";
import { findWords } from "../../scripts/test/words.mjs";

const patterns = { apple: "\\bapples?\\b", "pear tree": "\\bpear tree\\b" };

test("a word is found in prose, in names and over the lines of a comment, and not in other words", () => {
  const files = [
    { path: "js/fruit/names.ts", text: "const pearTree = apples;\n// A pear\n// tree.\n" },
    { path: "js/other.rs", text: "/// An apple, a pear_tree.\nfn pineapple() {}\n" },
    { path: "README.md", text: "Apples grow." },
    { path: "docs/plums.md", text: "Plums grow." },
  ];
  const found = findWords(patterns, files).map((line) => line.split(" in ")[0]);
  expect(found).toEqual([
    'js/fruit/names.ts: "apple"',
    'js/fruit/names.ts: "pear tree"',
    'js/fruit/names.ts: "pear tree"',
    'js/other.rs: "apple"',
    'js/other.rs: "pear tree"',
    'README.md: "apple"',
  ]);
});
