/** Opening the storage that the options name. */
import { failure, type SeenGuardError } from "../errors.js";
import type { GuardOptions } from "../types/seenguard.js";
import { IndexedDbStore } from "./indexeddb-store.js";
import type { KeyValueStore } from "./key-value-store.js";
import { allNamespaces } from "./keys.js";
import { SimpleStore } from "./simple-store.js";

/** The option `storage`. */
export type StorageOption = NonNullable<GuardOptions["storage"]>;
/** Where something can be kept. */
export type Place = Exclude<StorageOption, "none">;

/** What came of opening a storage. */
export interface Opening {
  /** Absent: nothing can be kept. */
  readonly store?: KeyValueStore;
  /** All keys of all namespaces, if the opening asked for them. */
  readonly keys?: readonly string[];
  /** What went wrong. */
  readonly errors: readonly SeenGuardError[];
}

/** The global of each storage of the browser. */
const GLOBALS = { indexeddb: "indexedDB", local: "localStorage" } as const;

/** The storages that an option names, each to be used where those before it are not available. */
export function placesOf(option?: StorageOption): readonly Place[] {
  if (option === undefined) return defaultPlaces();
  if (option === "none") return [];
  return option === "indexeddb" ? [option, "local"] : [option];
}

/** Whatever there is: a page's workers have no localStorage, those at the edge have neither. */
function defaultPlaces(): readonly Place[] {
  const all = ["indexeddb", "local"] as const;
  const existing = all.filter((place) => GLOBALS[place] in globalThis);
  // A page that has neither tries both, and reports it.
  return existing.length === 0 && typeof document !== "undefined" ? all : existing;
}

/** Opens the first of some storages that is available. Never rejects. */
export async function openStore(places: readonly Place[]): Promise<Opening> {
  const errors: SeenGuardError[] = [];
  for (const place of places) {
    if (typeof place === "object") return { store: new SimpleStore(place), errors };
    try {
      const store = place === "local" ? new SimpleStore(place) : new IndexedDbStore();
      // A storage that answers once is available.
      return { store, keys: await store.keys(allNamespaces), errors };
    } catch (cause) {
      errors.push(failure("storage", `the storage "${place}" is not available`, cause));
    }
  }
  return { errors };
}
