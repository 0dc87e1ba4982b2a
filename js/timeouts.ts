/** Waiting, but not for ever. */

/** Resolves when `work` does, at the latest after so many milliseconds: a storage that never answers must not hold up a feed. */
export function within(ms: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    void work.then(resolve, reject).then(() => clearTimeout(timer));
  });
}

/** How long to wait after so many failures in a row before this one: from a second on, twice as long each time, and not all at once. */
export function retryDelayMs(failures: number, mostMs: number): number {
  return Math.min(1_000 * 2 ** failures, mostMs) * (0.5 + Math.random() / 2);
}
