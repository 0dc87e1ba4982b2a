/** Where segments are kept: one small interface over IndexedDB, localStorage and a storage of the app's own. */
import { promisifyRequest } from "idb-keyval";

import { failure, type SeenGuardError } from "../errors.js";
import type { GuardOptions, GuardStats, SeenStorage } from "../types/seenguard.js";
import { Database } from "./database.js";
import { allNamespaces } from "./keys.js";
import { keysLeft, leave, readLeft, removeLeft } from "./unload-stash.js";

/** A key-value store of ASCII text. Every method may reject. */
export interface KeyValueStore {
  readonly kind: GuardStats["storage"];
  /** The values of several keys, in their order; `undefined` for one that is absent. */
  read(keys: readonly string[]): Promise<(string | undefined)[]>;
  /** Writes a value and removes others when it is there; IndexedDB both or neither. */
  write(key: string, value: string, replaced?: readonly string[]): Promise<void>;
  remove(keys: readonly string[]): Promise<void>;
  /** All keys that begin with a prefix. */
  keys(prefix: string): Promise<string[]>;
  /** Keeps a value that the page is about to write, should it go before that is done. */
  leave?(key: string, value: string): void;
}

/** What names a storage in the options. */
export type StorageOption = NonNullable<GuardOptions["storage"]>;
/** Where something can be kept. */
export type Place = Exclude<StorageOption, "none">;

/** After every key that begins with a prefix. */
const LAST = "\uffff";

/** Runs once the whole transaction is done: only then is something written. */
function committed({ transaction }: IDBObjectStore): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    // An error comes first, without the reason; it aborts the transaction.
    transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
    // Without this, a page that reloads or dies before it hears of the request's success would take the transaction with it.
    transaction.commit();
  });
}

class IndexedDbStore implements KeyValueStore {
  readonly kind = "indexeddb";
  readonly #database = new Database("seenguard", "segments");
  readonly leave = leave;

  async read(keys: readonly string[]): Promise<(string | undefined)[]> {
    return this.#database.use("readonly", (store) =>
      Promise.all(keys.map(async (key) => textOf(await promisifyRequest<unknown>(store.get(key))) ?? readLeft(key))),
    );
  }

  write(key: string, value: string, replaced: readonly string[] = []): Promise<void> {
    return this.#change([key, ...replaced], (store) => store.put(value, key));
  }

  remove(keys: readonly string[]): Promise<void> {
    return this.#change(keys, () => {});
  }

  /** Removes keys, and does what else belongs to that. */
  async #change(removed: readonly string[], then: (store: IDBObjectStore) => void): Promise<void> {
    await this.#database.use("readwrite", (store) => {
      for (const key of removed) store.delete(key);
      then(store);
      return committed(store);
    });
    removeLeft(removed);
  }

  async keys(prefix: string): Promise<string[]> {
    let left: string[] = [];
    const keys = await this.#database.use("readonly", async (store, isNew) => {
      // Nobody can have left anything behind. A first visit begins sooner without localStorage, which engines fetch when it is first asked.
      if (isNew) return [];
      // First, so that what is written meanwhile and is not left any more is among the others.
      left = keysLeft(prefix);
      return promisifyRequest(store.getAllKeys(IDBKeyRange.bound(prefix, prefix + LAST)));
    });
    // Between two texts there are only texts.
    return [...new Set([...(keys as string[]), ...left])];
  }
}

/** localStorage as if it were the app's own. */
const local: SeenStorage = {
  get: (key) => localStorage.getItem(key),
  set: (key, value) => localStorage.setItem(key, value),
  remove: (key) => localStorage.removeItem(key),
  keys: () => Object.keys(localStorage),
};

/** Async methods run synchronously up to their first await: localStorage has at once what is written here. */
class SimpleStore implements KeyValueStore {
  readonly kind: GuardStats["storage"];
  readonly #storage: SeenStorage;

  constructor(kind: GuardStats["storage"], storage: SeenStorage) {
    this.kind = kind;
    this.#storage = storage;
  }

  read(keys: readonly string[]): Promise<(string | undefined)[]> {
    return Promise.all(keys.map(async (key) => textOf(await this.#storage.get(key))));
  }

  async write(key: string, value: string, replaced: readonly string[] = []): Promise<void> {
    await this.#storage.set(key, value);
    await this.remove(replaced);
  }

  async remove(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map(async (key) => this.#storage.remove(key)));
  }

  async keys(prefix: string): Promise<string[]> {
    const keys: unknown = await this.#storage.keys();
    if (!Array.isArray(keys)) throw new TypeError("keys() of the storage did not return a list");
    return keys.filter((key): key is string => typeof key === "string" && key.startsWith(prefix));
  }
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : "";
}

/** What came of opening a storage. */
export interface Opening {
  /** Absent: nothing can be kept. */
  readonly store?: KeyValueStore;
  /** All keys of all namespaces, if that was the question. */
  readonly keys?: readonly string[];
  /** What went wrong. */
  readonly errors: readonly SeenGuardError[];
}

/** The storages that an option names, each to be had where those before it are not. */
export function placesOf(option: StorageOption = "indexeddb"): readonly Place[] {
  if (option === "none") return [];
  return option === "indexeddb" ? [option, "local"] : [option];
}

/** Opens the first of some storages that is available. */
export async function openStore(places: readonly Place[]): Promise<Opening> {
  const errors: SeenGuardError[] = [];
  for (const place of places) {
    if (typeof place === "object") return { store: new SimpleStore("custom", place), errors };
    try {
      const store = place === "local" ? new SimpleStore(place, local) : new IndexedDbStore();
      // One that answers once is there.
      return { store, keys: await store.keys(allNamespaces), errors };
    } catch (cause) {
      errors.push(failure("storage", `the storage "${place}" is not available`, cause));
    }
  }
  return { errors };
}
