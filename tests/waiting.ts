/** Waiting for something that other processes do, in tests and in soaks. */
import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 50;

/** Resolves when the condition is met, which is asked again and again. A minute is for a machine that is busy. */
export async function until(what: string, isMet: () => Promise<boolean>, patienceMs = 60_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await isMet())) {
    if (performance.now() > deadline) throw new Error(`in vain: ${what}`);
    await pause(POLL_MS);
  }
}
