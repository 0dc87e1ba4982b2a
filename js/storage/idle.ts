/**
 * Removing namespaces that nobody uses any more, such as those of people who have signed out: one that was found idle for the window on two
 * openings of any namespace at least a day apart. Two, so that a clock that jumps ahead once removes nothing.
 */
import { allNamespaces, FOUND_IDLE, LAST_USE, prefixOfKey } from "./keys.js";
import type { KeyValueStore } from "./store.js";

const DAY_MS = 86_400_000;

/** Days since 1970 on this device's clock. */
function today(): number {
  return Math.floor(Date.now() / DAY_MS);
}

/** What is noted of a namespace that is used today. */
export function useToday(windowDays: number): string {
  return `${today()}/${windowDays}`;
}

/** Notes that a namespace is used. */
export async function noteUse(store: KeyValueStore, prefix: string, use: string): Promise<void> {
  const [noted, foundIdle] = await store.read([prefix + LAST_USE, prefix + FOUND_IDLE]);
  if (noted !== use) await store.write(prefix + LAST_USE, use);
  if (foundIdle !== undefined) await store.remove([prefix + FOUND_IDLE]);
}

/** Looks at the other namespaces: marks those that are idle, removes those that were marked at least a day ago. */
export async function removeIdle(store: KeyValueStore, own: string, windowDays: number): Promise<void> {
  const keys = await store.keys(allNamespaces);
  for (const prefix of new Set(keys.map(prefixOfKey))) {
    if (prefix === own || prefix === "") continue;
    const [use = "", foundIdle] = await store.read([prefix + LAST_USE, prefix + FOUND_IDLE]);
    const [lastUse = NaN, itsWindow = NaN] = use.split("/").map(parseFloat);
    const idleDays = today() - lastUse;
    const markedDays = today() - Number(foundIdle);
    if (Number.isNaN(idleDays)) {
      // Nothing tells how old it is: its time begins now.
      await store.write(prefix + LAST_USE, useToday(windowDays));
    } else if (idleDays <= (itsWindow || windowDays)) {
      if (foundIdle !== undefined) await store.remove([prefix + FOUND_IDLE]);
    } else if (!(markedDays >= 0)) {
      await store.write(prefix + FOUND_IDLE, `${today()}`);
    } else if (markedDays > 1) {
      // Two days with one between them: then at least a day has passed, whatever hours they were.
      await store.remove(keys.filter((key) => key.startsWith(prefix)));
    }
  }
}
