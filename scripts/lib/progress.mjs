/** Says every 10 s what is still running, so that a long silence does not look like a hang. */

const INTERVAL_MS = 10_000;

/** What is running, with the time of its start. @type {Map<string, number>} */
const running = new Map();
/** @type {NodeJS.Timeout | undefined} */
let timer;

/**
 * @template T
 * @param {string} label
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(label, work) {
  running.set(label, Date.now());
  timer ??= setInterval(printRunning, INTERVAL_MS);
  try {
    return await work();
  } finally {
    running.delete(label);
    if (running.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }
}

function printRunning() {
  const lines = [...running].map(([label, start]) => `${label} (${String(Math.round((Date.now() - start) / 1000))} s)`);
  console.log(`  … ${lines.join(", ")}`);
}
