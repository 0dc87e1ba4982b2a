/** The limits of a step of `npm test`: its processor time, and its time without output. */
import { spawn } from "node:child_process";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { processorSeconds } from "../../scripts/lib/processes.mjs";
import { limitOf } from "../../scripts/test/side-by-side.mjs";

const MINUTE_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

test("a step without output or processor time for 3 minutes is ended", () => {
  const isOver = limitOf("none of this name", false);
  expect(isOver(30, 100)).toBeUndefined();
  vi.advanceTimersByTime(2.9 * MINUTE_MS);
  expect(isOver(30.5, 100)).toBeUndefined();
  vi.advanceTimersByTime(0.2 * MINUTE_MS);
  expect(isOver(30.5, 100)).toMatch(/neither said nor done/);
});

test.each([
  { what: "prints something", seconds: 30, characters: 101 },
  { what: "uses a processor", seconds: 32, characters: 100 },
])("a step that $what is not ended", ({ seconds, characters }) => {
  const isOver = limitOf("none of this name", false);
  isOver(30, 100);
  vi.advanceTimersByTime(2 * MINUTE_MS);
  expect(isOver(seconds, characters)).toBeUndefined();
  vi.advanceTimersByTime(2 * MINUTE_MS);
  expect(isOver(seconds, characters)).toBeUndefined();
});

test("a step that exceeds the longest processor time is ended", () => {
  const isOver = limitOf("none of this name", false);
  expect(isOver(44 * 60, 1)).toBeUndefined();
  expect(isOver(46 * 60, 2)).toMatch(/used a processor for more than 2700 s/);
});

test("the time of a process includes that of the processes that it has started", async () => {
  vi.useRealTimers();
  const busy = "const end = Date.now() + 20_000; while (Date.now() < end);";
  const script = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(busy)}], { detached: true })`;
  const { pid = 0 } = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
  await expect.poll(() => processorSeconds(pid), { timeout: 100_000 }).toBeGreaterThan(2);
});
