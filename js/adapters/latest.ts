/** For what apps write anew in each rendering: options with callbacks, arrays of ids; and for what is kept of the latest. */
import type { ItemId } from "../types/seenguard.js";

/** Options whose callbacks are the latest ones at each call. */
export function withLatest<T extends object>(options: T, latest: (name: keyof T) => unknown): T {
  type Callback = (...values: unknown[]) => unknown;
  const entries = Object.entries(options).map(([name, value]: [string, unknown]) => {
    if (typeof value !== "function") return [name, value];
    return [name, (...values: unknown[]) => ((latest(name as keyof T) ?? value) as Callback)(...values)];
  });
  return Object.fromEntries(entries) as T;
}

/** The same text for the same ids. */
export function idsKey(id: ItemId | readonly ItemId[]): string {
  return JSON.stringify([id].flat().map(String));
}

/** Drops of a map what came first, beyond so many, unless it is in use. Returns what it dropped. */
export function keepLatest<Value>(map: Map<string, Value>, most: number, isInUse: (value: Value) => boolean): Value[] {
  const unused = [...map].filter(([, value]) => !isInUse(value));
  return unused.slice(0, Math.max(map.size - most, 0)).map(([key, value]) => {
    map.delete(key);
    return value;
  });
}
