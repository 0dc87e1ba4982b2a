/**
 * IndexedDB: one database with one object store. Every transaction is read-only or write-only, issues all its requests
 * in one task and commits there: none waits for JavaScript, so a suspended page holds no lock.
 */
import { stringOf, type Change, type Store } from "./port.js";

const DATABASE = "seenguard";
const OBJECT_STORE = "entries";
/** The object store of earlier editions. */
const OUTDATED = "rows";
/** Sorts after every character of a key. */
const LAST = "\uffff";
/** The shortest interval between attempts to open the database while one does not respond. */
const REOPEN_MS = 60_000;

/** This document's connection; undefined while it is not open. It stays open when guards close. */
let database: IDBDatabase | undefined;
/** The latest attempt to open it that has not ended. */
let opening: { readonly sinceMs: number; readonly result: Promise<IDBDatabase> } | undefined;

/** Opens the database, once at a time. Whichever attempt succeeds is used. */
export function connect(): Promise<IDBDatabase> {
  const nowMs = Date.now();
  if (opening && Math.abs(nowMs - opening.sinceMs) < REOPEN_MS) return opening.result;
  const attempt = { sinceMs: nowMs, result: open() };
  opening = attempt;
  const end = () => {
    if (opening === attempt) opening = undefined;
  };
  attempt.result.then(end, end);
  return attempt.result;
}

function open(version?: number): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, version);
    request.onupgradeneeded = () => {
      const { result } = request;
      if (result.objectStoreNames.contains(OUTDATED)) result.deleteObjectStore(OUTDATED);
      if (!result.objectStoreNames.contains(OBJECT_STORE)) result.createObjectStore(OBJECT_STORE);
    };
    request.onerror = () => reject(request.error ?? new Error("IndexedDB could not be opened"));
    request.onsuccess = () => {
      const opened = request.result;
      if (opened.objectStoreNames.contains(OBJECT_STORE)) resolve(use(opened));
      else {
        // An earlier edition or the app has created it.
        opened.close();
        open(opened.version + 1).then(resolve, reject);
      }
    };
  });
}

function use(opened: IDBDatabase): IDBDatabase {
  if (database) {
    opened.close();
    return database;
  }
  database = opened;
  const close = () => disconnect(opened);
  // Otherwise other documents could not delete or upgrade the database.
  [opened.onclose, opened.onversionchange] = [close, close];
  return opened;
}

/** Closes the connection. Transactions in progress complete. */
function disconnect(closed = database): void {
  if (database === closed) database = undefined;
  closed?.close();
}

/** Runs a transaction; with an open connection it makes its requests before it returns. */
async function transact<T>(mode: IDBTransactionMode, issue: (store: IDBObjectStore) => () => T): Promise<T> {
  const connection = database ?? (await connect());
  const transaction = connection.transaction(OBJECT_STORE, mode);
  const result = issue(transaction.objectStore(OBJECT_STORE));
  const ended = new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    // The error event comes first, without the reason, and aborts the transaction.
    transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
  });
  // Without this, a page that closes before the last request's success event would lose the transaction.
  (transaction as Partial<IDBTransaction>).commit?.();
  await ended;
  return result();
}

export const indexedDb: Store = {
  kind: "indexeddb",

  opening: () => (database ? undefined : connect()),

  keys: (prefix) =>
    transact("readonly", (store) => {
      // A range between two strings contains only strings.
      const request = store.getAllKeys(IDBKeyRange.bound(prefix, prefix + LAST));
      return () => request.result as string[];
    }),

  getMany: (keys) =>
    transact("readonly", (store) => {
      const requests = keys.map((key) => store.get(key) as IDBRequest<unknown>);
      return () => requests.map(({ result }) => stringOf(result));
    }),

  write: ({ removeBelow, remove = [], set: rows = [] }: Change) =>
    transact("readwrite", (store) => {
      // Removing first makes room in a full storage.
      if (removeBelow) store.delete(IDBKeyRange.bound(...removeBelow, false, true));
      for (const key of remove) store.delete(key);
      for (const [key, value] of rows) store.put(value, key);
      return () => {};
    }),

  reconnect: () => disconnect(),
};
