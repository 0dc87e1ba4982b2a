/** What a guard reads the time from and waits by: the device's clocks, or those of a test. */

export interface Clock {
  /** Unix ms. It may jump. */
  wallMs(): number;
  /** Milliseconds that only grow. */
  steadyMs(): number;
  /** Runs something once, so many milliseconds later. Returns cancel. */
  after(ms: number, run: () => void): () => void;
}

let latestMs = 0;

/** The device's. Each call looks the global up. */
export const deviceClock: Clock = {
  wallMs: () => Date.now(),
  steadyMs: () => {
    if (typeof performance !== "undefined") return performance.now();
    // Hermes has none. The wall clock stands in, and stops while it is behind what it said before.
    latestMs = Math.max(latestMs, Date.now());
    return latestMs;
  },
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
