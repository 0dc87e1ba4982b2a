/**
 * IndexedDB: one database of one object store, by callbacks alone: a transaction lives as long as each request is made
 * in the callback of the one before.
 */
import { attempt } from "../platform/host.js";
import { textOf, type OnEnd, type Transaction } from "./places.js";

const DATABASE = "seenguard";
const OBJECT_STORE = "rows";
/** After every key that begins with a prefix. */
const LAST = "\uffff";
/** After this an opening has failed; whenever it answers, it is taken. */
const OPEN_MS = 10_000;
/** Another one is begun at the soonest after this. */
const REOPEN_MS = 60_000;

/** The connection of this document; undefined: it is not open. */
let database: IDBDatabase | undefined;
/** The callers that wait for the opening under way, and when another may be begun. */
let waiting: ((cause?: unknown) => void)[] | undefined;
let isLate = false;
/** How many guards use it. */
let users = 0;

/** Counts a user of the connection. Returns how to give it back, once: the last one to do so closes it. */
export function useConnection(): () => void {
  users++;
  return () => {
    if (--users === 0) disconnect();
  };
}

/** Hands on the open database, at once if it is; else why there is none. */
export function connect(take: (database: IDBDatabase | undefined, cause?: unknown) => void): void {
  if (database) {
    take(database);
    return;
  }
  if (waiting) {
    if (isLate) take(undefined, new Error("IndexedDB does not answer"));
    else waiting.push((cause) => take(database, cause));
    return;
  }
  waiting = [(cause) => take(database, cause)];
  isLate = false;
  const waiters = waiting;
  const settle = (cause?: unknown) => waiters.splice(0).forEach((settled) => settled(cause));
  const end = (cause?: unknown) => {
    if (waiting === waiters) waiting = undefined;
    settle(cause);
  };
  setTimeout(() => {
    if (waiting === waiters) isLate = true;
    settle(new Error("IndexedDB does not answer"));
  }, OPEN_MS);
  setTimeout(() => waiting === waiters && (waiting = undefined), REOPEN_MS);
  try {
    open(end);
  } catch (cause) {
    end(cause);
  }
}

function open(end: (cause?: unknown) => void, version?: number): void {
  const request = indexedDB.open(DATABASE, version);
  request.onupgradeneeded = () => {
    const { objectStoreNames } = request.result;
    if (!objectStoreNames.contains(OBJECT_STORE)) request.result.createObjectStore(OBJECT_STORE);
  };
  request.onerror = () => end(request.error ?? new Error("IndexedDB could not be opened"));
  request.onsuccess = () => {
    const opened = request.result;
    if (!opened.objectStoreNames.contains(OBJECT_STORE)) {
      // A database of the app that has this name, or what a failed upgrade has left.
      opened.close();
      open(end, opened.version + 1);
      return;
    }
    if (database || users === 0) {
      opened.close();
      end();
      return;
    }
    database = opened;
    opened.onclose = () => disconnect(opened);
    // So that others can delete or upgrade the database.
    opened.onversionchange = () => disconnect(opened);
    end();
  };
}

/** Closes a connection; the next transaction opens another. Those that have begun are carried out. */
export function disconnect(closed = database): void {
  if (database === closed) database = undefined;
  closed?.close();
}

export class IndexedDbTransaction implements Transaction {
  private readonly transaction: IDBTransaction;
  private readonly store: IDBObjectStore;
  /** What was thrown between the requests: then it has failed, even if what was asked before is carried out. */
  private cause: unknown;
  /** What reads nothing is committed in the task that begins it: a page that freezes then would keep its lock. */
  private hasRead = false;

  /** Throws if the connection is being closed. */
  constructor(opened: IDBDatabase, mode: IDBTransactionMode, onEnd: OnEnd) {
    this.transaction = opened.transaction(OBJECT_STORE, mode);
    this.store = this.transaction.objectStore(OBJECT_STORE);
    this.transaction.oncomplete = () => onEnd(this.cause);
    // An error comes first, without the reason; it aborts the transaction.
    this.transaction.onabort = () =>
      onEnd(this.cause ?? this.transaction.error ?? new Error("the transaction was aborted"));
  }

  keys(prefix: string, take: (keys: string[]) => void): void {
    // Between two texts there are only texts.
    const range = () => IDBKeyRange.bound(prefix, prefix + LAST);
    this.request(
      () => this.store.getAllKeys(range()),
      (keys) => take(keys as string[]),
    );
  }

  get(key: string, take: (text: string | undefined) => void): void {
    this.request(
      () => this.store.get(key),
      (value) => take(textOf(value)),
    );
  }

  put(key: string, text: string, done: () => void): void {
    this.attempt(() => {
      const request = this.store.put(text, key);
      if (this.hasRead) request.onsuccess = () => this.attempt(done);
      else done();
    });
  }

  delete(keys: readonly string[], prefix: string, below: string, done: () => void): void {
    this.attempt(() => {
      for (const key of keys) this.store.delete(key);
      if (below !== "") this.store.delete(IDBKeyRange.bound(prefix, below, false, true));
      done();
    });
  }

  /** At once: a page that reloads or dies before it hears of the last request's success would lose it. */
  commit(): void {
    this.attempt(() => (this.transaction as Partial<IDBTransaction>).commit?.());
  }

  abort(): void {
    // It may have been committed, or have failed.
    attempt(() => this.transaction.abort());
  }

  private request<T>(make: () => IDBRequest<T>, take: (value: T) => void): void {
    this.hasRead = true;
    this.attempt(() => {
      const request = make();
      request.onsuccess = () => this.attempt(() => take(request.result));
    });
  }

  private attempt(step: () => void): void {
    try {
      step();
    } catch (cause) {
      this.cause ??= cause ?? new Error("the transaction failed");
      this.abort();
    }
  }
}
