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

/**
 * Runs something as a task of its own, once others had their turn. Returns cancel. In the background browsers let timers
 * wait for a second or more, but not messages.
 */
export function inNextTask(run: () => void): () => void {
  if (typeof MessageChannel === "undefined") return deviceClock.after(0, run);
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    run();
  };
  port2.postMessage(undefined);
  return () => port1.close();
}

/** The option of `SeenGuard.open` that brings another clock. Only `seenguard/testing` knows it. */
export const CLOCK = Symbol.for("seenguard.clock");

export interface ClockOption {
  readonly [CLOCK]?: Clock | undefined;
}
