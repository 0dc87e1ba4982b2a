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

/** A string that is equal for equal ids. */
export function idsKey(id: ItemId | readonly ItemId[] | undefined): string {
  return JSON.stringify([id].flat().map(String));
}

/** Calls `make` again only for other arguments. */
export function once<Given extends unknown[], T>(make: (...given: Given) => T): (...given: Given) => T {
  let made: { readonly given: Given; readonly value: T } | undefined;
  return (...given) => {
    if (!made || given.some((each, index) => each !== made?.given[index])) made = { given, value: make(...given) };
    return made.value;
  };
}
