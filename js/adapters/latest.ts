/** For what apps write anew in each rendering: options with callbacks, arrays of ids. */
import type { ItemId } from "../types/seenguard.js";

/** Options whose callbacks are the latest ones at each call. */
export function withLatest<T extends object>(latest: () => T): T {
  type Callbacks = Record<string, ((...values: unknown[]) => unknown) | undefined>;
  const entries = Object.entries(latest()).map(([name, value]: [string, unknown]) => {
    if (typeof value !== "function") return [name, value];
    return [name, (...values: unknown[]) => (latest() as Callbacks)[name]?.(...values)];
  });
  return Object.fromEntries(entries) as T;
}

/** The same text for the same ids. */
export function idsKey(id: ItemId | readonly ItemId[]): string {
  return JSON.stringify([id].flat().map(String));
}
