/** What a guard reads the time from and waits by: the device's clocks, or those of a test. */

export interface Clock {
  /** Unix ms. It may jump. */
  wallMs(): number;
  /** Milliseconds that only grow. */
  steadyMs(): number;
  /** Runs something once, so many milliseconds later. Returns cancel. */
  after(ms: number, run: () => void): () => void;
}

/** The device's. Each call looks the global up. */
export const deviceClock: Clock = {
  wallMs: () => Date.now(),
  steadyMs,
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** The option of `SeenGuard.open` that brings another clock. Only `seenguard/testing` knows it. */
export const CLOCK = Symbol.for("seenguard.clock");

export interface ClockOption {
  readonly [CLOCK]?: Clock | undefined;
}

let latestMs = 0;

/** Where there is no `performance`, as in Hermes, the wall clock stands in, and stops while that is behind. */
export function steadyMs(): number {
  if (typeof performance !== "undefined") return performance.now();
  latestMs = Math.max(latestMs, Date.now());
  return latestMs;
}
