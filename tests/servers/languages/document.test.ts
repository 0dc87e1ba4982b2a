/** Every example of docs/other-languages.md in another language is run by one of these tests, or by tests/servers/kafka. */
import { expect, test } from "vitest";
import { foreignExamples } from "./tools.ts";

test("every example in another language is one that a test runs", () => {
  const kinds = [
    "go client",
    "java Seenguard",
    "python client",
    "go reports",
    "java Reports",
    "python reports",
    "go snapshot",
    "go list",
    "java Snapshot",
    "java SeenFunction",
    "python snapshot",
    "python native",
    "python pending",
  ];
  expect(foreignExamples.map(({ kind }) => kind)).toEqual(kinds);
});
