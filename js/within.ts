/** Waiting, but not for ever. */

/** Resolves when `work` does, at the latest after so many milliseconds: a storage that never answers must not hold up a feed. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, patience]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long to wait after so many failures in a row before this one: from a second on, twice as long each time, and not all at once. */
export function retryDelayMs(failures: number, mostMs: number): number {
  return Math.min(1_000 * 2 ** failures, mostMs) * (0.5 + Math.random() / 2);
}
