/** The store that the option `storage` names: IndexedDB, or the app's object. */
import { copyList } from "../input/ids.js";
import type { GuardOptions, SeenStorage } from "../types/seenguard.js";
import { indexedDb } from "./indexeddb.js";
import { textOf, type Store } from "./port.js";

/** The store of an option; undefined: nothing is stored. */
export function storeOf(option: GuardOptions["storage"]): Store | undefined {
  if (typeof option === "object") return customStore(option);
  // A page without IndexedDB tries it, which reports the failure. Server rendering has neither.
  const isThere = option !== undefined || "indexedDB" in globalThis || typeof document !== "undefined";
  return isThere && option !== "none" ? indexedDb : undefined;
}

/** The app's object. It needs no transactions: rows may be written twice, and a row is removed last. */
function customStore(storage: SeenStorage): Store {
  /** The prefix is a hint: the object may return other keys, and anything else. */
  const keys = async (prefix: string): Promise<string[]> => {
    const found: unknown = await storage.keys(prefix);
    if (!Array.isArray(found)) throw new TypeError("keys() of the storage did not return a list");
    return copyList(found as unknown[]).filter(
      (key): key is string => typeof key === "string" && key.startsWith(prefix),
    );
  };
  /** Calls for all of them in the calling task; a call that throws rejects. */
  const forAll = <T>(values: readonly T[], call: (value: T) => unknown): Promise<unknown[]> =>
    Promise.all(values.map((value) => new Promise((resolve) => resolve(call(value)))));
  return {
    kind: "custom",
    opening: () => undefined,
    keys,
    getMany: async (wanted) => (await forAll(wanted, (key) => storage.get(key))).map(textOf),
    // Hermes cannot parse a shorthand `set = []`.
    async write({ removeBelow, remove = [], set: rows = [] }) {
      await forAll(rows, ([key, text]) => storage.set(key, text));
      const below = removeBelow ? (await keys(removeBelow[0])).filter((key) => key < removeBelow[1]) : [];
      await forAll([...below, ...remove], (key) => storage.remove(key));
    },
    reconnect() {},
  };
}
