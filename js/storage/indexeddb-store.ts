/** IndexedDB: one database of one object store, by way of idb-keyval. */
import { promisifyRequest } from "idb-keyval";

import { textOf, type KeyValueStore } from "./key-value-store.js";
import { readStashed, removeStashed, stash, stashedKeys } from "./unload-stash.js";

const DATABASE = "seenguard";
const OBJECT_STORE = "segments";
/** After every key that begins with a prefix. */
const LAST = "\uffff";

type Work<T> = (store: IDBObjectStore, isNew: boolean) => Promise<T>;

/**
 * Opens the database when it is used, and once more after the browser has closed it. idb-keyval's own store would do
 * that, too, but does not tell whether it has made the database.
 */
class Database {
  private opened: Promise<IDBDatabase> | undefined;
  private isNew = false;

  /**
   * Runs `work` in a transaction. `isNew`: the database was not there before, and this is its first use.
   *
   * Firefox takes nothing but deletions in the first transaction after one that found no room, and throws an
   * InvalidStateError at anything else. The one after that tells whether there is room.
   */
  async use<T>(mode: IDBTransactionMode, work: Work<T>): Promise<T> {
    return this.begin(mode, work).catch((cause: unknown) => {
      if (!(cause instanceof DOMException && cause.name === "InvalidStateError")) throw cause;
      return this.begin(mode, work);
    });
  }

  private async begin<T>(mode: IDBTransactionMode, work: Work<T>): Promise<T> {
    const database = await (this.opened ??= this.open());
    const { isNew } = this;
    this.isNew = false;
    return work(database.transaction(OBJECT_STORE, mode).objectStore(OBJECT_STORE), isNew);
  }

  private open(): Promise<IDBDatabase> {
    const request = indexedDB.open(DATABASE);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(OBJECT_STORE);
      this.isNew = true;
    };
    const opened = promisifyRequest(request);
    const reopen = () => (this.opened = undefined);
    opened.then((database) => (database.onclose = reopen), reopen);
    return opened;
  }
}

/** Resolves when the whole transaction is done: only then is something written. */
function commit({ transaction }: IDBObjectStore): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    // An error comes first, without the reason; it aborts the transaction.
    transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
    // Without this, a page that reloads or dies before it hears of the request's success loses the transaction.
    transaction.commit();
  });
}

export class IndexedDbStore implements KeyValueStore {
  readonly kind = "indexeddb";
  readonly stash = stash;
  private readonly database = new Database();

  async read(keys: readonly string[]): Promise<(string | undefined)[]> {
    return this.database.use("readonly", (store) =>
      Promise.all(keys.map(async (key) => textOf(await promisifyRequest<unknown>(store.get(key))) ?? readStashed(key))),
    );
  }

  /** The transaction is committed at once: a page that dies in the next moment has written. */
  async write(values: Readonly<Record<string, string>>, beside?: string): Promise<string | undefined> {
    const found = await this.database.use("readwrite", async (store) => {
      for (const [key, value] of Object.entries(values)) store.put(value, key);
      const reading = beside === undefined ? undefined : store.get(beside);
      await commit(store);
      return textOf(reading?.result);
    });
    removeStashed(Object.keys(values));
    return found;
  }

  async replace(key: string, value: string, expected: string | undefined): Promise<boolean> {
    return this.database.use("readwrite", async (store) => {
      if (textOf(await promisifyRequest<unknown>(store.get(key))) !== expected) return false;
      store.put(value, key);
      await commit(store);
      return true;
    });
  }

  async writeStashed(prefix: string): Promise<void> {
    const keys = stashedKeys(prefix);
    if (keys.length === 0) return;
    await this.database.use("readwrite", (store) => {
      for (const key of keys) {
        const text = readStashed(key);
        // Another tab may have written it meanwhile.
        if (text !== undefined) store.put(text, key);
      }
      return commit(store);
    });
    removeStashed(keys);
  }

  async remove(keys: readonly string[]): Promise<void> {
    await this.database.use("readwrite", (store) => {
      for (const key of keys) store.delete(key);
      return commit(store);
    });
    removeStashed(keys);
  }

  async keys(prefix: string): Promise<string[]> {
    let stashed: string[] = [];
    const keys = await this.database.use("readonly", async (store, isNew) => {
      // Nobody can have stashed anything. A first visit starts sooner without localStorage, which browsers load when
      // it is first used.
      if (isNew) return [];
      // Read first: what is written and taken off the stash meanwhile is among the others.
      stashed = stashedKeys(prefix);
      return promisifyRequest(store.getAllKeys(IDBKeyRange.bound(prefix, prefix + LAST)));
    });
    // Between two texts there are only texts.
    return [...new Set([...(keys as string[]), ...stashed])];
  }
}
