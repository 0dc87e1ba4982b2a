/**
 * Tells other tabs to look into the storage: a `storage` event reaches each of them, and unlike locks and channels
 * keeps none out of the back/forward cache.
 */
import { attempt } from "./attempt.js";

/** Digits enough that two values in a row differ, without which there is no event. */
const LENGTH = 10;

export function sendSignal(key: string): void {
  // Always of one length: there is room for it even if the storage has filled up since the last one.
  attempt(() => localStorage.setItem(key, Math.random().toFixed(LENGTH)));
}

/** Tells other tabs, too, and leaves nothing behind. */
export function removeSignal(key: string): void {
  attempt(() => localStorage.removeItem(key));
}
