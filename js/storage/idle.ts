/**
 * Removing namespaces that nobody uses any more, such as those of people who have signed out: one that was found idle for the window on two
 * openings of any namespace at least a day apart. Two, so that a clock that jumps ahead once removes nothing.
 */
import { allNamespaces, keysOfOwner, type NamespaceKeys } from "./keys.js";
import type { KeyValueStore } from "./store.js";

const DAY_MS = 86_400_000;

/** Days since 1970 on this device's clock. */
export function today(): number {
  return Math.floor(Date.now() / DAY_MS);
}

/** Notes that a namespace is used today. */
export async function noteUse(store: KeyValueStore, keys: NamespaceKeys, windowDays: number): Promise<void> {
  const use = `${String(today())}/${String(windowDays)}`;
  const [noted, foundIdle] = await store.read([keys.lastUse, keys.foundIdle]);
  if (noted !== use) await store.write(keys.lastUse, use);
  if (foundIdle !== undefined) await store.remove([keys.foundIdle]);
}

/** Looks at the other namespaces: marks those that are idle, removes those that were marked at least a day ago. */
export async function removeIdle(store: KeyValueStore, own: NamespaceKeys, windowDays: number): Promise<void> {
  const byOwner = new Map<string, string[]>();
  for (const key of await store.keys(allNamespaces)) {
    const { prefix } = keysOfOwner(key);
    if (prefix === own.prefix || prefix === "") continue;
    const keys = byOwner.get(prefix) ?? [];
    keys.push(key);
    byOwner.set(prefix, keys);
  }
  for (const present of byOwner.values()) await removeIfIdle(store, present, windowDays);
}

async function removeIfIdle(store: KeyValueStore, present: readonly string[], windowDays: number): Promise<void> {
  const keys = keysOfOwner(present[0] ?? "");
  const [use = "", foundIdle] = await store.read([keys.lastUse, keys.foundIdle]);
  const [lastUse = NaN, itsWindow = NaN] = use.split("/").map(Number);
  if (Number.isNaN(lastUse)) {
    // Nothing tells how old it is: its time begins now.
    await store.write(keys.lastUse, `${String(today())}/${String(windowDays)}`);
  } else if (today() - lastUse <= (Number.isNaN(itsWindow) ? windowDays : itsWindow)) {
    if (foundIdle !== undefined) await store.remove([keys.foundIdle]);
  } else if (foundIdle === undefined || Number(foundIdle) > today()) {
    await store.write(keys.foundIdle, String(today()));
  } else if (today() - Number(foundIdle) > 1) {
    // Two days with one between them: then at least a day has passed, whatever hours they were.
    await store.remove(present);
  }
}
