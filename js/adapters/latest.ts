/** Stable forms of arguments that apps recreate in each rendering: options with callbacks, arrays of ids. */
import type { ItemId } from "../types/seenguard.js";

/** Options whose callbacks call the latest ones. */
export function withLatest<T extends object>(options: T, latest: (name: keyof T) => unknown): T {
  type Callback = (...values: unknown[]) => unknown;
  const entries = Object.entries(options).map(([name, value]: [string, unknown]) => {
    if (typeof value !== "function") return [name, value];
    return [name, (...values: unknown[]) => ((latest(name as keyof T) ?? value) as Callback)(...values)];
  });
  return Object.fromEntries(entries) as T;
}

/** A text that is equal for equal ids. */
export function idsKey(id: ItemId | readonly ItemId[]): string {
  return JSON.stringify([id].flat().map(String));
}
