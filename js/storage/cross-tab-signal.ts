/** Telling other tabs to look: a `storage` event reaches each of them, and unlike locks and channels keeps none out of the back/forward cache. */
import { tolerant } from "./attempt.js";

/** Digits enough that two values in a row differ, without which no event would tell of them. */
const LENGTH = 10;

export function ringBell(key: string): void {
  // Always as long as before: there is room for it though the storage has filled up since.
  tolerant(() => localStorage.setItem(key, Math.random().toFixed(LENGTH)));
}

/** Tells other tabs to look, too, and leaves nothing behind. */
export function removeBell(key: string): void {
  tolerant(() => localStorage.removeItem(key));
}
