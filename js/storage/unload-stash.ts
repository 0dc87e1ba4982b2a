/**
 * What a page leaves in localStorage as it goes. localStorage takes a value at once, while WebKit drops a write to IndexedDB that is under way when the
 * page unloads. It stays there until the write has been done after all, or whoever opens next has taken it over.
 */
import { tolerant } from "./attempt.js";

const ROOT = "seenguard-left/";

/** The keys in IndexedDB that begin with a prefix and whose values were left behind. */
export function keysLeft(prefix: string): string[] {
  const keys = tolerant(() => Object.keys(localStorage)) ?? [];
  return keys.filter((key) => key.startsWith(ROOT + prefix)).map((key) => key.slice(ROOT.length));
}

export function readLeft(key: string): string | undefined {
  return tolerant(() => localStorage.getItem(ROOT + key)) ?? undefined;
}

/** Where localStorage is denied or full nothing can be left. */
export function leave(key: string, value: string): void {
  tolerant(() => localStorage.setItem(ROOT + key, value));
}

export function removeLeft(keys: readonly string[]): void {
  tolerant(() => {
    for (const key of keys) localStorage.removeItem(ROOT + key);
  });
}
