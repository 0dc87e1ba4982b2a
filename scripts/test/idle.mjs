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
 * @returns {() => number} the share so far, from 0 to 1
 */
export function measureIdle() {
  const start = times();
  return () => {
    const now = times();
    return (now.idle - start.idle) / Math.max(1, now.sum - start.sum);
  };
}
