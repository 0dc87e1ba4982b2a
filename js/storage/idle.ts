/**
 * Removing namespaces that nobody uses any more, such as those of people who have signed out: one that was found idle for the window on two
 * openings of any namespace at least a day apart. Two, so that a clock that jumps ahead once removes nothing.
 */
import { allNamespaces, FOUND_IDLE, LAST_USE, prefixOfKey } from "./keys.js";
import type { KeyValueStore } from "./store.js";

const DAY_MS = 86_400_000;

/** Days since 1970 on this device's clock. */
export function today(): number {
  return Math.floor(Date.now() / DAY_MS);
}

function useToday(windowDays: number): string {
  return `${today()}/${windowDays}`;
}

/** Notes that a namespace is used today. */
export async function noteUse(store: KeyValueStore, prefix: string, windowDays: number): Promise<void> {
  const use = useToday(windowDays);
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
    const [lastUse = NaN, itsWindow = NaN] = use.split("/").map(Number);
    if (Number.isNaN(lastUse)) {
      // Nothing tells how old it is: its time begins now.
      await store.write(prefix + LAST_USE, useToday(windowDays));
    } else if (today() - lastUse <= (Number.isNaN(itsWindow) ? windowDays : itsWindow)) {
      if (foundIdle !== undefined) await store.remove([prefix + FOUND_IDLE]);
    } else if (foundIdle === undefined || Number(foundIdle) > today()) {
      await store.write(prefix + FOUND_IDLE, String(today()));
    } else if (today() - Number(foundIdle) > 1) {
      // Two days with one between them: then at least a day has passed, whatever hours they were.
      await store.remove(keys.filter((key) => key.startsWith(prefix)));
    }
  }
}
