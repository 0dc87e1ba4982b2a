/**
 * Keys that are in localStorage, whatever the store is. Where that is denied or full they are not there.
 *
 * - `seenguard-stash/…`: what a page has left as it hid. localStorage takes a value at once, while WebKit drops a write to
 *   IndexedDB that is under way when the page goes.
 * - `seenguard-signal/…`: tells other tabs to look. A `storage` event reaches each of them, and unlike locks and channels
 *   keeps none out of the back/forward cache.
 */
import { attempt } from "../attempt.js";

export function isWebKey(key: string): boolean {
  return key.startsWith("seenguard-");
}

/** Those with a prefix. */
export function webKeys(prefix: string): string[] {
  return (attempt(() => Object.keys(localStorage)) ?? []).filter((key) => key.startsWith(prefix));
}

export function readWebKey(key: string): string | undefined {
  return attempt(() => localStorage.getItem(key)) ?? undefined;
}

export function writeWebKey(key: string, text: string): void {
  attempt(() => localStorage.setItem(key, text));
}

export function removeWebKeys(keys: readonly string[]): void {
  for (const key of keys) attempt(() => localStorage.removeItem(key));
}
