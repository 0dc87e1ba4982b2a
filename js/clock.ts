/** What a guard reads the time from and waits by: the device's clocks, or those of a test. */

export interface Clock {
  /** Unix ms. It may jump. */
  wallMs(): number;
  /** Runs something once, so many milliseconds later. Returns cancel. */
  after(ms: number, run: () => void): () => void;
}

/** The device's. Each call looks the global up. */
export const deviceClock: Clock = {
  wallMs: () => Date.now(),
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
