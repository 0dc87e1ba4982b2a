/** Opening the storage that the options name. */
import { failure, type SeenGuardError } from "../errors.js";
import type { GuardOptions } from "../types/seenguard.js";
import { IndexedDbStore } from "./indexeddb-store.js";
import type { KeyValueStore } from "./key-value-store.js";
import { SimpleStore } from "./simple-store.js";

/** The option `storage`. */
export type StorageOption = NonNullable<GuardOptions["storage"]>;
/** A storage in which something can be kept. */
export type StorageChoice = Exclude<StorageOption, "none">;

/** The prefix of all keys of all namespaces, which the storage protocol lists first. */
const ALL_NAMESPACES = "seenguard/";

/** What came of opening a storage. */
export interface Opening {
  /** Absent: nothing can be kept. */
  readonly store?: KeyValueStore;
  /** All keys of all namespaces. */
  readonly listed?: Promise<readonly string[]>;
  /** What went wrong. */
  readonly errors: readonly SeenGuardError[];
}

/** The global of each storage of the browser. */
const GLOBALS = { indexeddb: "indexedDB", local: "localStorage" } as const;

/** The storages that an option names, each to be used where those before it are not available. */
export function choicesOf(option?: StorageOption): readonly StorageChoice[] {
  if (option === undefined) return defaultChoices();
  if (option === "none") return [];
  return option === "indexeddb" ? [option, "local"] : [option];
}

/** Whatever there is: a page's workers have no localStorage, those at the edge have neither. */
function defaultChoices(): readonly StorageChoice[] {
  const all = ["indexeddb", "local"] as const;
  const existing = all.filter((choice) => GLOBALS[choice] in globalThis);
  // A page that has neither tries both, and reports it.
  return existing.length === 0 && typeof document !== "undefined" ? all : existing;
}

/** Opens the first of some storages that is available. Never rejects. */
export async function openStore(choices: readonly StorageChoice[]): Promise<Opening> {
  const errors: SeenGuardError[] = [];
  for (const choice of choices) {
    const store: KeyValueStore = choice === "indexeddb" ? new IndexedDbStore() : new SimpleStore(choice);
    const listed = store.keys(ALL_NAMESPACES);
    try {
      // Of the browser's, one that answers is available. The app's own is the only choice.
      if (typeof choice === "string") await listed;
      else listed.catch(() => {});
      return { store, listed, errors };
    } catch (cause) {
      store.close?.();
      errors.push(failure("storage", `the storage "${choice as string}" is not available`, cause));
    }
  }
  return { errors };
}
