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
