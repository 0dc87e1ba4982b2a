/** Waiting, but not for ever. */

/**
 * Waits for `work`, at most so long: a storage that never answers must not hold up a feed. Returns whether it is done.
 */
export function withTimeout(ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms);
    work.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
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
