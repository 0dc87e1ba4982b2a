/** What `npm start` says of its options. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { inProject } from "../../scripts/lib/paths.mjs";

const start = (...args: string[]) =>
  spawnSync(process.execPath, [inProject("scripts", "start.mjs"), ...args], { encoding: "utf8" });

test("--help names the options, and starts nothing", () => {
  const { status, stdout, stderr } = start("--help");
  expect(stdout).toContain("usage: npm start [-- --server rust] [-- --flink]");
  expect([status, stderr]).toEqual([0, ""]);
});

test("an option that does not exist is named, beside those that do", () => {
  const { status, stdout, stderr } = start("--flnk");
  expect(stderr).toMatch(/^Unknown option '--flnk'\n\nusage: npm start/);
  expect([status, stdout]).toEqual([2, ""]);
});

test.each([
  { args: ["--server", "go"], says: /^--server is go: node or rust\n\nusage/ },
  { args: ["--server", "rust", "--flink"], says: /^--flink and --server rust are two consumers: one of them\n\nusage/ },
])("$args is refused", ({ args, says }) => {
  const { status, stderr } = start(...args);
  expect(stderr).toMatch(says);
  expect(status).toBe(2);
});

test("an argument that is no option is refused", () => {
  const { status, stderr } = start("flink");
  expect(stderr).toMatch(/^Unexpected argument 'flink'\n\nusage/);
  expect(status).toBe(2);
});
