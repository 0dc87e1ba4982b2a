/** Clearing a namespace, which needs no engine. */
import { errorNameOf } from "../errors.js";
import { inTime } from "../platform/host.js";
import { indexedDb } from "./indexeddb.js";
import * as keys from "./keys.js";
import { SILENCE_MS, type Store } from "./port.js";

/** How often a clear begins again because other clears are in its way. */
const MAX_ROUNDS = 5;

/** The namespace if it is open in this document. */
export interface OpenNamespace {
  readonly generation: number;
  /** Learns a generation. `keeps`: impressions recorded since the call stay. */
  cleared(generation: number, keeps: boolean): void;
}

/** The stores of a document: IndexedDB, unless the platform has none, and the app's. */
function storesWith(store?: Store): Store[] {
  const all = "indexedDB" in globalThis ? [indexedDb] : [];
  return store && store !== indexedDb ? [...all, store] : all;
}

/**
 * Clears a namespace: what takes effect at once is done before this returns. Rejects if a storage that may hold data
 * fails or is silent.
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
  for (let round = 0; round < MAX_ROUNDS; round++) {
    removeStashes(name, generation);
    for (const prefix of [keys.CLEAR, keys.SIGNAL]) keys.writeGeneration(prefix + name, generation);
    open()?.cleared(generation, keeps);
    const found = await Promise.all(stores.map((each) => clearStore(each, name, generation)));
    const highest = Math.max(0, ...found);
    if (highest <= generation) {
      removeMarker(name, generation);
      return;
    }
    // Another tab clears at this moment: its clear holds for what was recorded since this call, too. Or one with a clock
    // that was ahead has done so before.
    const known = keys.localGeneration(name);
    keeps = known < highest;
    generation = keeps ? highest + 1 : known;
  }
  throw new Error("other tabs clear the namespace all the time");
}

/** Removes the marker of a clear, unless it is of a later one. */
function removeMarker(name: string, generation: number): void {
  const key = keys.CLEAR + name;
  if ((keys.readGeneration(key) ?? 0) <= generation) keys.removeLocal([key]);
}

function removeStashes(name: string, generation: number): void {
  const stashes = () =>
    keys.parseKeys(keys.localKeys(keys.prefixOf(name))).filter((key) => key.generation < generation);
  keys.removeLocal(stashes().map(({ key }) => key));
  if (stashes().length > 0) throw new Error("localStorage removes nothing");
}

/**
 * Removes what is of lower generations, and leaves a row of this one: its key says so to tabs that read no signal.
 * Resolves to the highest generation that is there.
 */
async function clearStore(store: Store, name: string, generation: number): Promise<number> {
  const call = <T>(work: Promise<T>) => inTime(SILENCE_MS, "the storage", work);
  const [prefix, below] = [keys.prefixOf(name), keys.under(name, generation)];
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

/** Finishes the clears of pages that died. `store`: that of the namespace `own`. A failure is repeated on the next visit. */
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
