/** The clock that measures how long something took. */

let latestMs = 0;

/**
 * Milliseconds since some moment, never fewer than before. Where there is no `performance`, as in Hermes, the wall clock
 * stands in, and stops while that is behind.
 */
export function steadyMs(): number {
  if (typeof performance !== "undefined") return performance.now();
  latestMs = Math.max(latestMs, Date.now());
  return latestMs;
}
