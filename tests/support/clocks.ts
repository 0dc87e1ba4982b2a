/** Clocks of tests: time passes only when the test advances it. */
import { afterEach, beforeEach, onTestFinished, vi } from "vitest";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** The microtasks that may follow from one timer: more than any chain of promises has. */
const MICROTASKS = 30;

/**
 * A clock for thousands of simulated hours: timers run in their order as fast as they can, and what follows from one
 * runs before the next.
 */
export class VirtualClock {
  /** Milliseconds since the beginning. */
  now = 0;
  readonly #epochMs: number;
  readonly #timers = new Map<number, Timer>();
  #started = 0;

  constructor(epochMs: number) {
    this.#epochMs = epochMs;
  }

  /** Replaces the real clock, until `vi.unstubAllGlobals`. */
  install(): void {
    const now = () => this.#epochMs + this.now;
    class VirtualDate extends Date {
      static override now(): number {
        return now();
      }
    }
    vi.stubGlobal("Date", VirtualDate);
    vi.stubGlobal("performance", { now: () => this.now });
    vi.stubGlobal("setTimeout", (run: () => void, ms = 0) => this.at(this.now + ms, run));
    vi.stubGlobal("clearTimeout", (timer: number) => this.#timers.delete(timer));
  }

  at(ms: number, run: () => void): number {
    const order = ++this.#started;
    this.#timers.set(order, { at: ms, order, run });
    return order;
  }

  /** Runs all timers that are due until then. */
  async runUntil(ms: number): Promise<void> {
    for (;;) {
      let next: Timer | undefined;
      for (const timer of this.#timers.values()) if (next === undefined || timer.at < next.at) next = timer;
      if (next === undefined || next.at > ms) break;
      this.#timers.delete(next.order);
      this.now = Math.max(this.now, next.at);
      next.run();
      for (let settling = 0; settling < MICROTASKS; settling++) await Promise.resolve();
    }
    this.now = ms;
  }
}

/** For the rest of the test. */
export function fakeTimers(config: Parameters<typeof vi.useFakeTimers>[0]): void {
  vi.useFakeTimers(config);
  onTestFinished(() => void vi.useRealTimers());
}

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

/** Advances the time, and runs all timers that become due. */
export const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Resolves after this time of the test's clock. */
export const pause = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns a promise that stays pending. */
export const never = (): Promise<never> => new Promise(() => {});
