/** The store that the option `storage` names. */
import type { GuardOptions } from "../types/seenguard.js";
import { customStore } from "./custom.js";
import { indexedDb } from "./indexeddb.js";
import type { Store } from "./port.js";

/** The storage that an option names; undefined: nothing is stored. */
export function storeOf(option: GuardOptions["storage"]): Store | undefined {
  if (typeof option === "object") return customStore(option);
  // A page without IndexedDB tries it, which reports the failure. Server rendering has neither.
  const isThere = option !== undefined || "indexedDB" in globalThis || typeof document !== "undefined";
  return isThere && option !== "none" ? indexedDb : undefined;
}
