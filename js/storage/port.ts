/** The key-value store below the storage: IndexedDB, or the app's object. */

/** The timeout of a call. */
export const CALL_TIMEOUT_MS = 10_000;

export interface Change {
  /** Removes the keys with a prefix that sort below a key. */
  readonly removeBelow?: readonly [prefix: string, below: string];
  readonly remove?: readonly string[];
  readonly set?: readonly (readonly [key: string, value: string])[];
}

/** Each method starts its requests in the calling task if it can, and rejects if one fails. */
export interface Store {
  readonly kind: "indexeddb" | "custom";
  /** Resolves when the store may be called at once; undefined: it may. */
  opening(): Promise<unknown> | undefined;
  /** The keys with this prefix. */
  keys(prefix: string): Promise<string[]>;
  /** The values, `undefined` for keys that are absent. */
  getMany(keys: readonly string[]): Promise<(string | undefined)[]>;
  write(change: Change): Promise<void>;
  /** Closes a connection that may be dead: the next call opens a new one. */
  reconnect(): void;
}

/** A stored value: `undefined` if absent; instead of a value of another type a string that cannot be decoded. */
export function stringOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : "?";
}
