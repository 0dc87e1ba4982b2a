/** Where namespaces are kept: one small interface over IndexedDB, localStorage and a storage of the app's own. */

/** A key-value store of text. Every method may reject, and need never answer. */
export interface KeyValueStore {
  readonly kind: "indexeddb" | "local" | "custom";
  /** Whether the first listing has found that there was nothing here before. */
  readonly isNew?: boolean;
  /** All keys that begin with a prefix. */
  keys(prefix: string): Promise<string[]>;
  /** The values of several keys, in their order; `undefined` for one that is absent. */
  read(keys: readonly string[]): Promise<(string | undefined)[]>;
  write(key: string, text: string): Promise<void>;
  remove(keys: readonly string[]): Promise<void>;
  /** Gives it back. */
  close?(): void;
}

/** A stored value as text: what is absent is `undefined`, and what is no text is a text that nobody can read. */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : "";
}
