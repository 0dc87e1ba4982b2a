/** Where segments are kept: one small interface over IndexedDB, localStorage and a storage of the app's own. */
import { createStore, type UseStore } from "idb-keyval";

import { SeenGuardError, describe } from "../errors.js";
import type { GuardOptions, GuardStats, SeenStorage } from "../seenguard.js";
import { LeftBehind } from "./left-behind.js";

/** A key-value store of ASCII text. Every method may reject. */
export interface KeyValueStore {
  readonly kind: GuardStats["storage"];
  /** The values of several keys, in their order; `undefined` for one that is absent. */
  read(keys: readonly string[]): Promise<(string | undefined)[]>;
  write(key: string, value: string): Promise<void>;
  remove(keys: readonly string[]): Promise<void>;
  /** All keys that begin with a prefix. */
  keys(prefix: string): Promise<string[]>;
  /** Writes a value and removes others with it, all or nothing: where a storage has no such thing, one writes first and removes then. */
  replace?(key: string, value: string, others: readonly string[]): Promise<void>;
  /** Keeps a value that the page is about to write, should it go before that is done. */
  leave?(key: string, value: string): void;
}

/** What names a storage in the options. */
export type StorageOption = NonNullable<GuardOptions["storage"]>;

const DATABASE = "seenguard";
const OBJECT_STORE = "segments";
/** After every key that begins with a prefix. */
const LAST = "\uffff";

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => {
      resolve(request.result);
    };
    request.onerror = () => {
      reject(request.error ?? new Error("the request failed"));
    };
  });
}

/** Runs once the whole transaction is done: only then is something written. */
function committed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => {
      resolve();
    };
    // An error comes first, without the reason; it aborts the transaction.
    transaction.onabort = () => {
      reject(transaction.error ?? new Error("the transaction was aborted"));
    };
    // Without this, a page that reloads or dies before it hears of the request's success would take the transaction with it.
    transaction.commit();
  });
}

class IndexedDbStore implements KeyValueStore {
  readonly kind = "indexeddb";
  readonly #use: UseStore;
  readonly #left = new LeftBehind();

  constructor(use: UseStore) {
    this.#use = use;
  }

  async read(keys: readonly string[]): Promise<(string | undefined)[]> {
    const values = await this.#use("readonly", (store) =>
      Promise.all(keys.map(async (key) => textOf(await settled(store.get(key))))),
    );
    return keys.map((key, index) => values[index] ?? this.#left.read(key));
  }

  write(key: string, value: string): Promise<void> {
    return this.replace(key, value, []);
  }

  async replace(key: string, value: string, others: readonly string[]): Promise<void> {
    await this.#use("readwrite", (store) => {
      store.put(value, key);
      for (const other of others) store.delete(other);
      return committed(store.transaction);
    });
    this.#left.remove([key, ...others]);
  }

  async remove(keys: readonly string[]): Promise<void> {
    await this.#use("readwrite", (store) => {
      for (const key of keys) store.delete(key);
      return committed(store.transaction);
    });
    this.#left.remove(keys);
  }

  async keys(prefix: string): Promise<string[]> {
    const keys = await this.#use("readonly", (store) =>
      settled(store.getAllKeys(IDBKeyRange.bound(prefix, prefix + LAST))),
    );
    const texts = keys.filter((key) => typeof key === "string");
    return [...new Set([...texts, ...this.#left.keys(prefix)])];
  }

  leave(key: string, value: string): void {
    this.#left.write(key, value);
  }
}

class LocalStore implements KeyValueStore {
  readonly kind = "local";
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  // Async methods run synchronously up to their first await: what is written here is written at once.
  // eslint-disable-next-line @typescript-eslint/require-await
  async read(keys: readonly string[]): Promise<(string | undefined)[]> {
    return keys.map((key) => this.#storage.getItem(key) ?? undefined);
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async write(key: string, value: string): Promise<void> {
    this.#storage.setItem(key, value);
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#storage.removeItem(key);
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async keys(prefix: string): Promise<string[]> {
    const keys = Array.from({ length: this.#storage.length }, (_, index) => this.#storage.key(index));
    return keys.filter((key) => key?.startsWith(prefix) === true) as string[];
  }
}

class CustomStore implements KeyValueStore {
  readonly kind = "custom";
  readonly #storage: SeenStorage;

  constructor(storage: SeenStorage) {
    this.#storage = storage;
  }

  read(keys: readonly string[]): Promise<(string | undefined)[]> {
    return Promise.all(keys.map(async (key) => textOf(await this.#storage.get(key))));
  }

  async write(key: string, value: string): Promise<void> {
    await this.#storage.set(key, value);
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

/** A store that answered once. */
async function proved(store: KeyValueStore): Promise<KeyValueStore> {
  await store.keys("seenguard/");
  return store;
}

async function openIndexedDb(): Promise<KeyValueStore> {
  if (typeof indexedDB === "undefined") throw new Error("there is no IndexedDB here");
  return proved(new IndexedDbStore(createStore(DATABASE, OBJECT_STORE)));
}

async function openLocal(): Promise<KeyValueStore> {
  // Reading the property throws where storage is denied.
  const storage = (globalThis as { localStorage?: Storage }).localStorage;
  if (storage === undefined) throw new Error("there is no localStorage here");
  return proved(new LocalStore(storage));
}

/**
 * Opens the storage that an option names; what it names not being available, the next best. `undefined`: nothing can be kept. What went wrong
 * goes to `report`.
 */
export async function openStore(
  option: GuardOptions["storage"],
  report: (error: SeenGuardError) => void,
): Promise<KeyValueStore | undefined> {
  if (option === "none") return undefined;
  if (typeof option === "object") return new CustomStore(option);
  for (const open of option === "local" ? [openLocal] : [openIndexedDb, openLocal]) {
    try {
      return await open();
    } catch (cause) {
      const name = open === openLocal ? "localStorage" : "IndexedDB";
      report(new SeenGuardError("storage", `${name} is not available: ${describe(cause)}`, cause));
    }
  }
  return undefined;
}
