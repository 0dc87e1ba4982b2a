/** How the panel writes numbers, sizes and times for people. */
import { expect, test } from "vitest";
import { bytes, duration, rate, shortened } from "../../js/devtools/format.js";

test.each([
  [0, "0"],
  [1e-13, "< 1 in 10¹²"],
  [2e-12, "1 in 500B"],
  [0.001, "1 in 1,000"],
  [1 / 3_456_789, "1 in 3.46M"],
])("a rate of %f is %s", (value, text) => {
  expect(rate(value)).toBe(text);
});

test.each([
  [0, 2, "0 s"],
  [12_345, 2, "12 s"],
  [125_000, 2, "2 min 5 s"],
  [3_600_000, 2, "1 h"],
  [3_725_000, 2, "1 h 2 min"],
  [90_000_000, 2, "1 d 1 h"],
  [5 * 86_400_000, 2, "5 d"],
  [90_000_000, 1, "1 d"],
])("%d ms in %d units are %s", (ms, units, text) => {
  expect(duration(ms, units)).toBe(text);
});

test.each([
  [999, "999 B"],
  [1_000, "1 kB"],
  [12_345, "12.3 kB"],
  [123_456, "123 kB"],
  [1_234_567, "1.2 MB"],
])("%d bytes are %s", (value, text) => {
  expect(bytes(value)).toBe(text);
});

test("of a long id the beginning and the end are shown", () => {
  expect(shortened("x".repeat(72))).toBe("x".repeat(72));
  expect(shortened("a".repeat(100) + "b".repeat(100))).toBe(`${"a".repeat(60)}…${"b".repeat(12)}`);
});
