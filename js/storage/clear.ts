/** Clearing a namespace where no guard of this document keeps it. */
import { clearNamespace } from "./generation.js";
import { prefixOf } from "./keys.js";
import { openStore, type Place } from "./store.js";

/**
 * Clears the namespace in each place; a fallback, or any if the namespace is kept elsewhere, only if it was used. What
 * cannot be reached holds nothing that could be cleared.
 */
export async function clearPlaces(
  namespace: string,
  places: readonly Place[],
  clearedAtMs: number,
  isKeptElsewhere: boolean,
): Promise<void> {
  const prefix = prefixOf(namespace);
  let isCleared = isKeptElsewhere;
  for (const place of places) {
    const { store, keys } = await openStore([place]);
    const isUsed = !isCleared || keys === undefined || keys.some((key) => key.startsWith(prefix));
    if (!store || !isUsed) continue;
    await clearNamespace(store, prefix, clearedAtMs);
    isCleared = true;
  }
}
