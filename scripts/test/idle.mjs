/** How much of the time the machine's processors have nothing to do. */
import { cpus } from "node:os";

/** Of all processors together since the system began, in ms. */
function times() {
  const all = cpus().map(({ times }) => times);
  const idle = all.reduce((sum, each) => sum + each.idle, 0);
  return { idle, sum: all.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, idle) };
}

/**
 * Measures from now on.
 * @returns {{ except: <T>(work: () => Promise<T>) => Promise<T>, share: () => number }} except: does work that does not
 *   count, at a time when nothing else runs; share: from 0 to 1
 */
export function measureIdle() {
  const start = times();
  const left = { idle: 0, sum: 0 };
  return {
    async except(work) {
      const before = times();
      try {
        return await work();
      } finally {
        const after = times();
        left.idle += after.idle - before.idle;
        left.sum += after.sum - before.sum;
      }
    },
    share() {
      const now = times();
      return (now.idle - start.idle - left.idle) / Math.max(1, now.sum - start.sum - left.sum);
    },
  };
}
