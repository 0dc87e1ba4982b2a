/** Timeouts, the waits between attempts, and pauses. */

/**
 * Waits for `work`, at most so long: a storage that never answers must not hold up a feed. Returns whether it is done.
 */
export function withTimeout(ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms);
    work.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}

/** What `work` comes to; rejects after so long, for what is the app's must not stop delivery for good. */
export function inTime<T>(ms: number, whose: string, work: T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${whose} has not answered within ${ms / 1000} s`)), ms);
    void Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** How long to wait after so many failures in a row before this one: doubling from a second, with jitter. */
export function retryDelayMs(failures: number, mostMs: number): number {
  return Math.min(1_000 * 2 ** failures, mostMs) * (0.5 + Math.random() / 2);
}

/** Resolves in a task of its own, so many milliseconds later: others run before. */
export function pause(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
