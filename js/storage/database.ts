/**
 * IndexedDB with promises: a database of one object store, which is opened when it is used, and once more after the browser has closed it. idb-keyval
 * would do that, too, but does not tell whether it has made the database.
 */
import { promisifyRequest } from "idb-keyval";

export class Database {
  readonly #name: string;
  readonly #store: string;
  #opened: Promise<IDBDatabase> | undefined;
  #isNew = false;

  constructor(name: string, store: string) {
    this.#name = name;
    this.#store = store;
  }

  /** Does something in a transaction of its own. `isNew`: the database was not there before, and this is the first thing that is done with it. */
  async use<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore, isNew: boolean) => Promise<T>): Promise<T> {
    const database = await (this.#opened ??= this.#open());
    const isNew = this.#isNew;
    this.#isNew = false;
    return work(database.transaction(this.#store, mode).objectStore(this.#store), isNew);
  }

  #open(): Promise<IDBDatabase> {
    const request = indexedDB.open(this.#name);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(this.#store);
      this.#isNew = true;
    };
    const opened = promisifyRequest(request);
    // Whoever comes next tries again.
    const forget = () => (this.#opened = undefined);
    opened.then((database) => (database.onclose = forget), forget);
    return opened;
  }
}
