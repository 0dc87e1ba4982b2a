/**
 * What a page puts into localStorage as it unloads. localStorage takes a value at once, while WebKit drops a write to
 * IndexedDB that is under way when the page goes. It stays there until the write is done after all, or whoever opens
 * next has taken it over.
 */
import { attempt } from "./attempt.js";

const ROOT = "seenguard-stash/";

/** The keys with a prefix whose values were stashed. */
export function stashedKeys(prefix: string): string[] {
  const keys = attempt(() => Object.keys(localStorage)) ?? [];
  return keys.filter((key) => key.startsWith(ROOT + prefix)).map((key) => key.slice(ROOT.length));
}

export function readStashed(key: string): string | undefined {
  return attempt(() => localStorage.getItem(ROOT + key)) ?? undefined;
}

/** Where localStorage is denied or full nothing can be stashed. */
export function stash(key: string, value: string): void {
  attempt(() => localStorage.setItem(ROOT + key, value));
}

export function removeStashed(keys: readonly string[]): void {
  attempt(() => {
    for (const key of keys) localStorage.removeItem(ROOT + key);
  });
}
