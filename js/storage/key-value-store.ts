/** Where segments are kept: one small interface over IndexedDB, localStorage and a storage of the app's own. */
import type { GuardStats } from "../types/seenguard.js";

/** A key-value store of ASCII text. Every method may reject, and need never answer. */
export interface KeyValueStore {
  readonly kind: GuardStats["storage"];
  /** The values of several keys, in their order; `undefined` for one that is absent. */
  read(keys: readonly string[]): Promise<(string | undefined)[]>;
  /**
   * Writes values by key, in their order, and none of them if one fails. Returns the value of the key `beside`, which
   * IndexedDB reads in the same transaction.
   */
  write(values: Readonly<Record<string, string>>, beside?: string): Promise<string | undefined>;
  /**
   * Writes a value if the present one is `expected` (`undefined`: absent), which IndexedDB checks in the same
   * transaction and the others right before. Returns whether it was.
   */
  replace(key: string, value: string, expected: string | undefined): Promise<boolean>;
  remove(keys: readonly string[]): Promise<void>;
  /** All keys that begin with a prefix. */
  keys(prefix: string): Promise<string[]>;
  /** Keeps a value that the page is about to write, in case the page goes before that is done. */
  stash?(key: string, value: string): void;
  /** Writes what earlier pages have stashed below a prefix. */
  writeStashed?(prefix: string): Promise<void>;
}

/** A stored value as text: what is absent is `undefined`, and what is no text is a text that nobody can read. */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : "";
}
