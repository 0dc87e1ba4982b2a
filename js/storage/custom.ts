/** The store that the option `storage` selects: IndexedDB, or the app's object. */
import { copyList } from "../input/ids.js";
import type { GuardOptions, SeenStorage } from "../types/seenguard.js";
import { indexedDb } from "./indexeddb.js";
import { stringOf, type Store } from "./port.js";

/** The store of an option; undefined: nothing is stored. */
export function storeOf(option: GuardOptions["storage"]): Store | undefined {
  if (typeof option === "object") return customStore(option);
  // A page without IndexedDB tries it nonetheless, so that the failure is reported. Server rendering has neither.
  const isThere = option !== undefined || "indexedDB" in globalThis || typeof document !== "undefined";
  return isThere && option !== "none" ? indexedDb : undefined;
}

/** The app's object. It needs no transactions: rows may be written twice, and a row is removed last. */
function customStore(storage: SeenStorage): Store {
  /** Filters the result, in which the object may return other keys and values of any type. */
  const keys = async (prefix: string): Promise<string[]> => {
    const found: unknown = await storage.keys(prefix);
    if (!Array.isArray(found)) throw new TypeError("keys() of the storage did not return a list");
    return copyList(found as unknown[]).filter(
      (key): key is string => typeof key === "string" && key.startsWith(prefix),
    );
  };
  /** Calls a function for each value in the calling task. Rejects if a call throws or rejects. */
  const forAll = <T>(values: readonly T[], call: (value: T) => unknown): Promise<unknown[]> =>
    Promise.all(values.map((value) => new Promise((resolve) => resolve(call(value)))));
  return {
    kind: "custom",
    opening: () => undefined,
    keys,
    getMany: async (wanted) => (await forAll(wanted, (key) => storage.get(key))).map(stringOf),
    // Hermes cannot parse a shorthand `set = []`.
    async write({ removeBelow, remove = [], set: rows = [] }) {
      await forAll(rows, ([key, value]) => storage.set(key, value));
      const below = removeBelow ? (await keys(removeBelow[0])).filter((key) => key < removeBelow[1]) : [];
      await forAll([...below, ...remove], (key) => storage.remove(key));
    },
    reconnect() {},
  };
}
