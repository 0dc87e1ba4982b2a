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

/** What a clear is told by and tells: the namespace as this document has it open, if it has. */
export interface OpenNamespace {
  readonly number: number;
  /** `keeps`: it was cleared, with this number, which keeps what was recorded since. */
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
 * Clears a namespace: writes the signal, at once, then deletes in each place what stands under lower numbers, and keeps
 * the number there. Rejects if a place fails that may hold something.
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
        // What is there may be of a higher number, made by a clock that was ahead.
        const highest = keys.highestOf(found, name);
        if (highest > number) clearedAt(highest + 1, true);
        const [prefix, below] = [keys.prefixOf(name), keys.under(name, number)];
        transaction.delete([], prefix, below, () =>
          transaction.put(`${below}m`, String(Math.floor(wallMs / DAY_MS)), () => transaction.commit()),
        );
      });
    }).catch((cause: unknown) => {
      // Denied, or, as in an old private window, failing at once where nothing was ever kept: there is nothing in it.
      const isAbsent = errorNameOf(cause) === "SecurityError" || (!wasUsed && Date.now() - calledMs < 1_000);
      if (place !== "indexeddb" || !isAbsent) throw cause;
    });
  };
  const places: readonly StorageChoice[] = store ? [...BROWSERS, store] : BROWSERS;
  const results = await Promise.allSettled(places.map(clearPlace));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
  // One place may have raised the number after another was cleared.
  if (keys.hasLocal()) await clearPlace("local");
}

function isThere(place: StorageChoice): boolean {
  return place === "local" ? keys.hasLocal() : place !== "indexeddb" || "indexedDB" in globalThis;
}

/** Deletes what stands below a number, or everything of a namespace, in both of the browser's places. */
function deleteBelow(name: string, number?: number): void {
  const below = number === undefined ? `${keys.prefixOf(name)}\uffff` : keys.under(name, number);
  for (const place of BROWSERS) {
    const work = (transaction: Transaction) =>
      transaction.delete([], keys.prefixOf(name), below, () => transaction.commit());
    // What fails is tried at the next visit.
    within(place, work).catch(() => {});
  }
}

/** Finishes the clears of other namespaces whose page has died, and removes namespaces that are idle. */
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
  // No writer waits for it.
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
