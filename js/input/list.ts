/** Reads a list of the app, and reports misuse. */
import { attempt } from "../platform/host.js";
import type { SeenGuardError } from "../errors.js";
import { misuseOfList } from "./misuse.js";
import type { IdOf } from "../types/seenguard.js";
import { collectIds, copyList, type CollectedIds } from "./ids.js";

export type MisuseListener = (error: SeenGuardError | undefined) => void;

/** A copy of the untrusted list, and its items' ids. Calls functions of the app. */
export function readList<T>(
  items: readonly T[],
  idOf: IdOf<T> | undefined,
  report: MisuseListener,
): { readonly list: T[]; readonly collected: CollectedIds } {
  const list = copyList(items);
  const collected = collectIds(list, idOf);
  if (__DEV__ && (collected.ids.length === 0 || collected.thrown)) {
    // A revoked proxy throws.
    const isList = attempt(() => Array.isArray(items)) ?? true;
    report(misuseOfList(isList ? list : items, idOf, collected));
  }
  return { list, collected };
}
