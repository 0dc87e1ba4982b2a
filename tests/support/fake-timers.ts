/** Tests of delivery by the clock: time passes only when the test says so. */
import { afterEach, beforeEach, vi } from "vitest";

/** For all tests of the file. */
export function useFakeTimers(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
}

/** Lets time pass, and all timers in it run. */
export const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
