/** Clearing a namespace, which needs no engine, and removing idle namespaces. */
import type { Clock } from "../platform/host.js";
import { errorNameOf } from "../errors.js";
import type { NamespaceEngine } from "../engine/namespace-engine.js";
import { connect, IndexedDbTransaction, useConnection } from "./indexeddb.js";
import * as keys from "./keys.js";
import {
  BROWSERS,
  forEach,
  local,
  StoreTransaction,
  type OnEnd,
  type StorageChoice,
  type Transaction,
} from "./places.js";

const DAY_MS = 86_400_000;

/** The namespace if it is open in this document: a clear reads its number and notifies it. */
export interface OpenNamespace {
  readonly number: number;
  /** Applies a clear with this number. `keeps`: impressions recorded since stay. */
  cleared(number: number, keeps: boolean): void;
}

/** Runs a transaction in one place. Rejects if it fails. */
function within(
  place: StorageChoice,
  work: (transaction: Transaction) => void,
  mode: IDBTransactionMode = "readwrite",
): Promise<void> {
  const release = useConnection();
  const ending = new Promise<void>((resolve, reject) => {
    const fail = (cause: unknown): void => reject(cause);
    const onEnd: OnEnd = (cause) => (cause === undefined ? resolve() : fail(cause));
    if (place !== "indexeddb") {
      work(new StoreTransaction(place === "local" ? local : place, onEnd));
      return;
    }
    connect((database, cause) => {
      try {
        if (!database) throw cause;
        work(new IndexedDbTransaction(database, mode, onEnd));
      } catch (failure) {
        fail(failure);
      }
    });
  });
  return ending.finally(release);
}

/**
 * Clears a namespace: writes the cross-tab signal at once, then deletes the keys of lower numbers from each storage,
 * and keeps the number there. Rejects if a storage fails that may hold data.
 */
export async function clearNamespace(
  namespace: string,
  store: Exclude<StorageChoice, string> | undefined,
  open: () => OpenNamespace | undefined,
  wallMs: number,
): Promise<void> {
  const name = keys.nameOf(namespace);
  const wasUsed = keys.localKeys(keys.ROOT).length > 0 || keys.signalledNames().length > 0;
  let number = Math.max(Math.floor(wallMs), 1 + Math.max(keys.readSignal(name) ?? 0, open()?.number ?? 0));
  const clearedAt = (next: number, keeps: boolean) => {
    number = next;
    if (!keys.writeSignal(name, number)) {
      keys.removeLocal(keys.localKeys(keys.prefixOf(name)));
      keys.writeSignal(name, number);
    }
    open()?.cleared(number, keeps);
  };
  clearedAt(number, false);
  const clearPlace = async (place: StorageChoice): Promise<void> => {
    if (!isThere(place)) return;
    const calledMs = Date.now();
    await within(place, (transaction) => {
      transaction.keys(keys.prefixOf(name), (found) => {
        // A clock that was ahead may have written keys of a higher number.
        const highest = keys.highestOf(found, name);
        if (highest > number) clearedAt(highest + 1, true);
        const [prefix, below] = [keys.prefixOf(name), keys.under(name, number)];
        transaction.delete([], prefix, below, () =>
          transaction.put(`${below}m`, String(Math.floor(wallMs / DAY_MS)), () => transaction.commit()),
        );
      });
    }).catch((cause: unknown) => {
      // Access is denied, or fails at once though nothing was ever stored, as in old private windows: there is no data.
      const isAbsent = errorNameOf(cause) === "SecurityError" || (!wasUsed && Date.now() - calledMs < 1_000);
      if (place !== "indexeddb" || !isAbsent) throw cause;
    });
  };
  const places: readonly StorageChoice[] = store ? [...BROWSERS, store] : BROWSERS;
  const results = await Promise.allSettled(places.map(clearPlace));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
  // A higher number found in one storage applies to localStorage, too, which may have been cleared before.
  if (keys.hasLocal()) await clearPlace("local");
}

function isThere(place: StorageChoice): boolean {
  return place === "local" ? keys.hasLocal() : place !== "indexeddb" || "indexedDB" in globalThis;
}

/** Deletes the keys below a number, or all keys of a namespace, from both of the browser's storages. */
function deleteBelow(name: string, number?: number): void {
  const below = number === undefined ? `${keys.prefixOf(name)}\uffff` : keys.under(name, number);
  for (const place of BROWSERS) {
    const work = (transaction: Transaction) =>
      transaction.delete([], keys.prefixOf(name), below, () => transaction.commit());
    // A failure is retried on the next visit.
    within(place, work).catch(() => {});
  }
}

/** Completes clears of other namespaces that a closed page left unfinished, and removes idle namespaces. */
export function removeIdle(guard: NamespaceEngine, inUse: string, clock: Clock): void {
  for (const name of keys.signalledNames()) {
    const number = keys.readSignal(name);
    if (name !== inUse && number !== undefined) deleteBelow(name, number);
  }
  if (guard.call((engine) => engine.cleansUp) !== true) return;
  const read = (transaction: Transaction) =>
    transaction.keys(keys.ROOT, (found) => {
      const take = (key: string, text?: string) => guard.call((engine) => engine.noteOther(key, text));
      const readOne = (key: string, done: () => void) =>
        transaction.get(key, (text) => {
          take(key, text);
          done();
        });
      found.forEach((key) => take(key));
      const metas = found.filter((key) => key.endsWith("/m"));
      forEach(
        () => metas.pop(),
        readOne,
        () => transaction.commit(),
      );
    });
  // A read-only transaction blocks no writer.
  const note = (place: StorageChoice) => within(place, read, "readonly");
  Promise.all(BROWSERS.filter(isThere).map(note)).then(
    () => {
      const idle = guard.call((engine) => engine.takeIdle(inUse, clock.wallMs())) ?? "";
      for (const name of idle === "" ? [] : idle.split("\n")) {
        deleteBelow(name);
        keys.removeLocal([keys.signalKey(name)]);
      }
    },
    () => {},
  );
}
