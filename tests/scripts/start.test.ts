/** What `npm start` says of its options. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { inProject } from "../../scripts/lib/paths.mjs";

const start = (...args: string[]) =>
  spawnSync(process.execPath, [inProject("scripts", "start.mjs"), ...args], { encoding: "utf8" });

test("--help names the options, and starts nothing", () => {
  const { status, stdout, stderr } = start("--help");
  expect(stdout).toContain("usage: npm start [-- --redis | --kafka | --flink] [--broker HOST:PORT]");
  expect([status, stderr]).toEqual([0, ""]);
});

test("an unknown option is named, with the known ones", () => {
  const { status, stdout, stderr } = start("--flnk");
  expect(stderr).toMatch(/^Unknown option '--flnk'\n\nusage: npm start/);
  expect([status, stdout]).toEqual([2, ""]);
});

test.each([
  { args: ["--kafka", "--flink"], says: /^--redis, --kafka and --flink are three ways: one of them\n\nusage/ },
  { args: ["--redis", "--broker", "kafka:9092"], says: /^--broker is for --kafka or --flink\n\nusage/ },
  { args: ["--kafka", "--broker", "kafka"], says: /^--broker is kafka: HOST:PORT\n\nusage/ },
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
