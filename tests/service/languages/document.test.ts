/** Every example of docs/ in another language is run by one of these tests, or by tests/service/kafka. */
import { expect, test } from "vitest";
import { foreignExamples } from "./tools.ts";

test("every example in another language is one that a test runs", () => {
  const kinds = [
    "go snapshot",
    "go list",
    "java Snapshot",
    "python snapshot",
    "python native",
    "python pending",
    "go client",
    "java Seenguard",
    "python client",
    "go reports",
    "java Reports",
    "python reports",
  ];
  expect(foreignExamples.map(({ kind }) => kind)).toEqual(kinds);
});
