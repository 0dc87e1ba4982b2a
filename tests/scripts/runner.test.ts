/** Which steps of `npm test` run at the same time; the limits of a step: its processor time, and its time without output. */
import { spawn } from "node:child_process";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { processorSeconds } from "../../scripts/lib/processes.mjs";
import { limitOf, runSideBySide, type Outcome } from "../../scripts/test/side-by-side.mjs";

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

test("next to three steps one of low priority begins, and another step once one of those has ended", async () => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const names = ["a", "b", "c", "d", "low 1", "low 2"];
  const steps = names.map((name) => ({
    name,
    what: "",
    run: () => {},
    ...(name.includes("low") && { low: true as const }),
  }));
  const ended = runSideBySide(steps, ({ name }) => {
    begun.push(name);
    return new Promise<Outcome>((resolve) => ends.push(() => resolve({ name, result: "passed", seconds: 0 })));
  });
  await expect.poll(() => begun).toEqual(["a", "b", "c", "low 1"]);
  ends.shift()?.();
  await expect.poll(() => begun).toEqual(["a", "b", "c", "low 1", "d"]);
  for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
    end();
    await new Promise(setImmediate);
  }
  expect((await ended).map(({ name }) => name)).toEqual(names);
});

test("the time of a process includes that of the processes that it has started", async () => {
  vi.useRealTimers();
  const busy = "const end = Date.now() + 20_000; while (Date.now() < end);";
  const script = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(busy)}], { detached: true })`;
  const { pid = 0 } = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
  await expect.poll(() => processorSeconds(pid), { timeout: 100_000 }).toBeGreaterThan(2);
});
