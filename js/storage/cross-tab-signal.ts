/**
 * Tells other tabs to look into the storage: a `storage` event reaches each of them, and unlike locks and channels
 * keeps none out of the back/forward cache.
 */
import { listen } from "../page.js";
import { attempt } from "./attempt.js";

/** Digits enough that two values in a row differ, without which there is no event. */
const LENGTH = 10;

export function sendSignal(key: string): void {
  // Always of one length: there is room for it even if the storage has filled up since the last one.
  attempt(() => localStorage.setItem(key, Math.random().toFixed(LENGTH)));
}

/**
 * Calls when another tab has sent the signal. WebKit tells of changes only to pages that have looked into localStorage
 * themselves, as listing the keys does. Returns stop.
 */
export function onSignal(key: string, call: () => void): () => void {
  return listen(["storage"], (event) => {
    const { key: changed } = event as StorageEvent;
    if (changed === key || changed === null) call();
  });
}

/** Tells other tabs, too, and leaves nothing behind. */
export function removeSignal(key: string): void {
  attempt(() => localStorage.removeItem(key));
}
