/** Clearing a namespace where no guard of this document keeps it. */
import { deviceClock } from "../clock.js";
import type { Engine } from "../engine/engine.js";
import { EngineGuard } from "../engine/engine-guard.js";
import type { Engines } from "../engine/load.js";
import type { KeyValueStore } from "./key-value-store.js";
import { StoragePerformer } from "./performer.js";
import { openStore, type Opening, type StorageChoice } from "./store.js";
import { removeWebKeys, webKeys } from "./web-keys.js";

/** A guard's options that matter to nobody who only clears. */
const OPTIONS = { windowDays: 30, remember: 50_000 };

/**
 * Clears in each storage what was recorded before `calledAtMs`; in a fallback, or in any if the namespace is kept
 * elsewhere, only if it was used. What cannot be reached holds nothing that could be cleared.
 */
export async function clearStorages(
  namespace: string,
  choices: readonly StorageChoice[],
  calledAtMs: number,
  isKeptElsewhere: boolean,
  engines: Engines,
): Promise<void> {
  const prefix = `seenguard/${nameOf(namespace)}/`;
  let isCleared = isKeptElsewhere;
  for (const choice of choices) {
    const { store, listed } = await openStore([choice]);
    if (!store) continue;
    try {
      if (isCleared && !(await listed)?.some((key) => key.startsWith(prefix))) continue;
      const engine = await engines.load({ engine: "auto" }).catch(() => undefined);
      if (engine) await clearStore(namespace, engine, store, listed, calledAtMs);
      // Without one, as after a trap, nothing of it may stay.
      else await store.remove(await store.keys(prefix));
      isCleared = true;
    } finally {
      store.close?.();
    }
  }
}

/** By a guard that does nothing else. */
async function clearStore(
  namespace: string,
  engine: Engine,
  store: KeyValueStore,
  listed: Opening["listed"],
  calledAtMs: number,
): Promise<void> {
  const guard = new EngineGuard(engine, { namespace, ...OPTIONS }, deviceClock);
  const performer = new StoragePerformer(guard, deviceClock, () => {});
  try {
    const cleared = performer.clear(calledAtMs);
    void performer.begin(store, listed);
    await cleared;
  } finally {
    performer.stop();
    guard.free();
  }
}

/** Removes what pages have left of the namespace in localStorage as they hid. */
export function removeStashes(namespace: string): void {
  removeWebKeys(webKeys(`seenguard-stash/${nameOf(namespace)}/`));
}

/** Removes what signals have left in localStorage: the namespace's name. */
export function removeSignal(namespace: string): void {
  removeWebKeys([`seenguard-signal/${nameOf(namespace)}`]);
}

/** A namespace as the engine's storage protocol names it in keys. */
function nameOf(namespace: string): string {
  return namespace.replace(/[^\w.:@-]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
