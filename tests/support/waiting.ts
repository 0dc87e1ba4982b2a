/** Waiting for something that other processes do, in tests and in soaks. */
import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 50;

/**
 * Resolves when the condition is met, which is checked again and again, and may never answer. A minute is for a machine
 * that is busy.
 */
export async function until(what: string, isMet: () => Promise<boolean>, patienceMs = 60_000): Promise<void> {
  const done = new AbortController();
  const tooLate = pause(patienceMs, undefined, { signal: done.signal }).then(() => {
    throw new Error(`in vain: ${what}`);
  });
  try {
    while (!(await Promise.race([isMet(), tooLate]))) await pause(POLL_MS);
  } finally {
    done.abort();
  }
}
