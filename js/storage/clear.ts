/** Clears a namespace. It needs no engine. */
import { errorNameOf } from "../errors.js";
import { rejectAfter } from "../platform/host.js";
import { indexedDb } from "./indexeddb.js";
import * as keys from "./keys.js";
import { CALL_TIMEOUT_MS, type Store } from "./port.js";

/** The most attempts of a clear while other tabs clear the same namespace. */
const MAX_ATTEMPTS = 5;

/** The namespace if it is open in this document. */
export interface OpenNamespace {
  readonly generation: number;
  /** Applies a clear. `keeps`: impressions recorded since the call stay. */
  cleared(generation: number, keeps: boolean): void;
}

/** The stores of a document: IndexedDB, unless the platform has none, and the app's. */
function storesWith(store?: Store): Store[] {
  const all = "indexedDB" in globalThis ? [indexedDb] : [];
  return store && store !== indexedDb ? [...all, store] : all;
}

/**
 * Clears a namespace: stashes and memory before this returns its promise, the stores before that resolves. Rejects if a
 * store that may contain data fails or does not respond.
 */
export async function clearNamespace(
  namespace: string,
  store: Store | undefined,
  open: () => OpenNamespace | undefined,
  wallMs: number,
): Promise<void> {
  const name = keys.nameOf(namespace);
  const stores = storesWith(store);
  let generation = Math.max(Math.floor(wallMs), 1 + Math.max(keys.localGeneration(name), open()?.generation ?? 0));
  let keeps = false;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    removeStashes(name, generation);
    for (const prefix of [keys.CLEAR, keys.SIGNAL]) keys.writeGeneration(prefix + name, generation);
    open()?.cleared(generation, keeps);
    const found = await Promise.all(stores.map((each) => clearStore(each, name, generation)));
    const highest = Math.max(0, ...found);
    if (highest <= generation) {
      removeMarker(name, generation);
      return;
    }
    // Another tab clears right now, and its clear also covers what was recorded since this call. Or a tab whose clock
    // was ahead cleared earlier: then what was recorded since this call stays.
    const known = keys.localGeneration(name);
    keeps = known < highest;
    generation = keeps ? highest + 1 : known;
  }
  throw new Error("other tabs clear the namespace at the same time: clear it again");
}

/** Removes the marker of a clear, unless a later clear has replaced it. */
function removeMarker(name: string, generation: number): void {
  const key = keys.CLEAR + name;
  if ((keys.readGeneration(key) ?? 0) <= generation) keys.removeLocal([key]);
}

function removeStashes(name: string, generation: number): void {
  const stashes = () =>
    keys.parseKeys(keys.localKeys(keys.prefixOf(name))).filter((key) => key.generation < generation);
  keys.removeLocal(stashes().map(({ key }) => key));
  if (stashes().length > 0) throw new Error("localStorage does not remove the stashes");
}

/**
 * Removes the keys of lower generations, and writes an empty row of this one: tabs that cannot read the signal find the
 * generation in its key. Resolves to the highest generation in the store.
 */
async function clearStore(store: Store, name: string, generation: number): Promise<number> {
  const call = <T>(work: Promise<T>) => rejectAfter(CALL_TIMEOUT_MS, "the storage", work);
  const [prefix, below] = [keys.prefixOf(name), keys.generationPrefixOf(name, generation)];
  const key = new keys.KeyMaker().make(name, generation, "r", Date.now());
  try {
    await call(store.write({ removeBelow: [prefix, below], set: [[key, ""]] }));
    return keys.highestGeneration(keys.parseKeys(await call(store.keys(prefix))));
  } catch (cause) {
    // Where access is denied, nothing was ever stored.
    if (store === indexedDb && errorNameOf(cause) === "SecurityError") return 0;
    store.reconnect();
    throw cause;
  }
}

/**
 * Completes clears that earlier pages have not completed. `store`: that of the namespace `own`. What fails is repeated
 * on the next visit.
 */
export async function finishClears(store: Store | undefined, own: string): Promise<void> {
  const finish = async (name: string) => {
    const generation = keys.readGeneration(keys.CLEAR + name);
    if (generation === undefined) return;
    removeStashes(name, generation);
    await Promise.all(storesWith(name === own ? store : undefined).map((each) => clearStore(each, name, generation)));
    removeMarker(name, generation);
  };
  await Promise.allSettled(keys.namesUnder(keys.CLEAR).map(finish));
}
