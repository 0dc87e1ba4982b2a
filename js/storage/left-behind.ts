/**
 * What a page leaves in localStorage as it goes. localStorage takes a value at once, while WebKit drops a write to IndexedDB that is under way when the
 * page unloads. It stays there until the write has been done after all, or whoever opens next has taken it over.
 */

const ROOT = "seenguard-left/";

/** Values that were left behind, by their keys in IndexedDB. Where localStorage is denied or full nothing can be left. */
export class LeftBehind {
  keys(prefix: string): string[] {
    return tolerant([], (storage) =>
      Object.keys(storage)
        .filter((key) => key.startsWith(ROOT + prefix))
        .map((key) => key.slice(ROOT.length)),
    );
  }

  read(key: string): string | undefined {
    return tolerant(undefined, (storage) => storage.getItem(ROOT + key) ?? undefined);
  }

  write(key: string, value: string): void {
    tolerant(undefined, (storage) => {
      storage.setItem(ROOT + key, value);
    });
  }

  remove(keys: readonly string[]): void {
    tolerant(undefined, (storage) => {
      for (const key of keys) storage.removeItem(ROOT + key);
    });
  }
}

/** Reading the property `localStorage` throws where it is denied, and writing throws where it is full. */
function tolerant<T>(fallback: T, use: (storage: Storage) => T): T {
  try {
    return typeof localStorage === "undefined" ? fallback : use(localStorage);
  } catch {
    return fallback;
  }
}
