/** Every example of docs/other-languages.md in another language is run by one of these tests. */
import { expect, test } from "vitest";
import { foreignExamples } from "./tools.ts";

test("every example in another language is one that a test here runs", () => {
  const kinds = [
    "go client",
    "java Seenguard",
    "python client",
    "go seen",
    "go list",
    "java Seen",
    "java SeenFunction",
    "python seen",
    "python native",
    "python pending",
  ];
  expect(foreignExamples.map(({ kind }) => kind)).toEqual(kinds);
});
