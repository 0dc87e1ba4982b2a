/** IndexedDB: one database of one object store, by way of idb-keyval. */
import { promisifyRequest } from "idb-keyval";
import { textOf, type KeyValueStore } from "./key-value-store.js";

const DATABASE = "seenguard";
const OBJECT_STORE = "segments";
/** After every key that begins with a prefix. */
const LAST = "\uffff";

/**
 * The connection of this document: opened when it is needed, and again after it was closed, by the browser, or here so
 * that others can delete or upgrade the database. idb-keyval's own store would open it, too, but never closes it.
 */
class Connection {
  private opened: Promise<IDBDatabase> | undefined;
  /** How many stores use it. */
  private users = 0;
  /** Whether the database was not there before. */
  isNew = false;

  /**
   * Runs `work` in a transaction.
   *
   * A connection that is being closed throws an InvalidStateError; the next one is open. So does Firefox in the first
   * transaction after one that found no room, at anything but deletions; the next one tells whether there is room.
   */
  async use<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => Promise<T>): Promise<T> {
    return this.begin(mode, work).catch((cause: unknown) => {
      if (!(cause instanceof DOMException && cause.name === "InvalidStateError")) throw cause;
      return this.begin(mode, work);
    });
  }

  private async begin<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => Promise<T>): Promise<T> {
    const database = await (this.opened ??= this.open());
    return work(database.transaction(OBJECT_STORE, mode).objectStore(OBJECT_STORE));
  }

  private async open(version?: number): Promise<IDBDatabase> {
    const request = indexedDB.open(DATABASE, version);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(OBJECT_STORE);
      this.isNew = true;
    };
    const reopen = () => (this.opened = undefined);
    try {
      const database = await promisifyRequest(request);
      database.onclose = reopen;
      database.onversionchange = () => {
        reopen();
        database.close();
      };
      if (database.objectStoreNames.contains(OBJECT_STORE)) return database;
      // An app's own of that name, or what a failed upgrade has left.
      database.close();
      return await this.open(database.version + 1);
    } catch (cause) {
      reopen();
      throw cause;
    }
  }

  acquire(): void {
    this.users++;
  }

  /** The last one to leave closes it. Transactions that have begun are carried out. */
  release(): void {
    if (--this.users > 0) return;
    const { opened } = this;
    this.opened = undefined;
    void opened?.then(
      (database) => database.close(),
      () => {},
    );
  }
}

const connection = new Connection();

/**
 * Resolves when the whole transaction is done: only then is something written. It is committed at once: a page that
 * reloads or dies before it hears of the request's success would lose it.
 */
function commit({ transaction }: IDBObjectStore): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    // An error comes first, without the reason; it aborts the transaction.
    transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
    transaction.commit();
  });
}

export class IndexedDbStore implements KeyValueStore {
  readonly kind = "indexeddb";
  isNew = false;
  private isOpen = true;

  constructor() {
    connection.acquire();
  }

  async keys(prefix: string): Promise<string[]> {
    const keys = await connection.use("readonly", (store) =>
      promisifyRequest(store.getAllKeys(IDBKeyRange.bound(prefix, prefix + LAST))),
    );
    this.isNew = connection.isNew;
    connection.isNew = false;
    // Between two texts there are only texts.
    return keys as string[];
  }

  read(keys: readonly string[]): Promise<(string | undefined)[]> {
    return connection.use("readonly", (store) =>
      Promise.all(keys.map(async (key) => textOf(await promisifyRequest<unknown>(store.get(key))))),
    );
  }

  write(key: string, text: string): Promise<void> {
    return connection.use("readwrite", (store) => {
      store.put(text, key);
      return commit(store);
    });
  }

  remove(keys: readonly string[]): Promise<void> {
    return connection.use("readwrite", (store) => {
      for (const key of keys) store.delete(key);
      return commit(store);
    });
  }

  close(): void {
    if (this.isOpen) connection.release();
    this.isOpen = false;
  }
}
