/**
 * IndexedDB: one database with one object store. It uses callbacks, not promises: a transaction stays active only while
 * each request is made in the callback of the one before.
 */
import { attempt } from "../platform/host.js";
import { textOf, type OnEnd, type Transaction } from "./places.js";

const DATABASE = "seenguard";
const OBJECT_STORE = "rows";
/** Appended to a prefix: sorts after every key with that prefix. */
const LAST = "\uffff";
/** Timeout of opening the database. A connection that arrives later is still used. */
const OPEN_MS = 10_000;
/** The shortest interval between two attempts to open it. */
const REOPEN_MS = 60_000;

/** This document's connection; undefined while it is not open. */
let database: IDBDatabase | undefined;
/** Callers that wait for the open request in progress, and when the next one may start. */
let waiting: ((cause?: unknown) => void)[] | undefined;
let isLate = false;
/** The number of users of the connection. */
let users = 0;

/** Counts a user of the connection. Returns a function that releases it, once; the last release closes it. */
export function useConnection(): () => void {
  users++;
  return () => {
    if (--users === 0) disconnect();
  };
}

/** Passes the open database to `take`, synchronously if it is open already; else the reason why there is none. */
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
      // The database belongs to the app, or a failed upgrade left it without the object store.
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
    // Otherwise other documents could not delete or upgrade the database.
    opened.onversionchange = () => disconnect(opened);
    end();
  };
}

/** Closes a connection; the next transaction opens a new one. Transactions in progress complete. */
export function disconnect(closed = database): void {
  if (database === closed) database = undefined;
  closed?.close();
}

export class IndexedDbTransaction implements Transaction {
  private readonly transaction: IDBTransaction;
  private readonly store: IDBObjectStore;
  /** An exception thrown in a callback: the transaction has failed, even if its earlier requests succeed. */
  private cause: unknown;
  /** A transaction without reads is committed in its first task: a page that freezes later would keep the lock. */
  private hasRead = false;

  /** Throws if the connection is being closed. */
  constructor(opened: IDBDatabase, mode: IDBTransactionMode, onEnd: OnEnd) {
    this.transaction = opened.transaction(OBJECT_STORE, mode);
    this.store = this.transaction.objectStore(OBJECT_STORE);
    this.transaction.oncomplete = () => onEnd(this.cause);
    // The error event comes first, without the reason, and aborts the transaction.
    this.transaction.onabort = () =>
      onEnd(this.cause ?? this.transaction.error ?? new Error("the transaction was aborted"));
  }

  keys(prefix: string, take: (keys: string[]) => void): void {
    // Between two strings IndexedDB sorts only strings.
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

  /** Commits at once: a page that closes before the last request's success event would lose the transaction. */
  commit(): void {
    this.attempt(() => (this.transaction as Partial<IDBTransaction>).commit?.());
  }

  abort(): void {
    // The transaction may have ended already.
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
