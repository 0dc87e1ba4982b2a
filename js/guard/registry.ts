/**
 * The namespaces that are open in a document, each shared by all its holders: StrictMode mounts twice, a hot reload
 * loads the module again, and an app may contain two bundles of this package. All copies find the registry by a
 * registered symbol. The frameworks' adapters import it without the guard.
 */
import { CLOCK, withTimeout } from "../platform/host.js";
import { callBack, SeenGuardError } from "../errors.js";
import { setLatest, KeyedVerdicts, removeSaved } from "../feed/keyed-verdicts.js";
import { misuseOfCopies } from "../input/misuse.js";
import { finishClears } from "../storage/clear.js";
import { nameOf } from "../storage/keys.js";
import type { Holder, Namespace } from "./namespace.js";
import type { OpenOptions } from "./options.js";

/** The version in package.json, which the build inserts. */
declare const PACKAGE_VERSION: string;

/** A guard that components share. */
export interface SharedHandle {
  /** Whether any component holds it. */
  readonly isHeld: boolean;
  close(): void;
}

interface Registry {
  /** The version of the package that created it. */
  readonly version: string;
  readonly namespaces: Map<string, Namespace>;
  /** Verdicts of the keyed lists. They outlive a namespace: the next route that opens it has the list again. */
  readonly verdicts: Map<string, KeyedVerdicts>;
  /** The guards that components share, the most recently held one last. */
  readonly shared: Map<string, SharedHandle>;
  /** The sign-outs in progress. */
  readonly signOuts: Map<string, Promise<void>>;
}

const PREFIX = "seenguard.registry.";
/** Copies share a registry only if they agree on the interface of a namespace: the number grows when that changes. */
const REGISTRY = Symbol.for(PREFIX + "1");
/** How long `open` waits, for a sign-out and then for the engine. */
const OPEN_TIMEOUT_MS = 10_000;
const TIMED_OUT = "loading the engine takes over 10 s: everything passes until it is loaded";
/** How long `close` waits for the storage. */
const CLOSE_TIMEOUT_MS = 2_000;
/** The most shared guards that stay open, unless components hold more. */
const MAX_SHARED = 4;

const registries = globalThis as unknown as Record<symbol, Registry | undefined>;

function registry(): Registry {
  return (registries[REGISTRY] ??= {
    version: PACKAGE_VERSION,
    namespaces: new Map(),
    verdicts: new Map(),
    shared: new Map(),
    signOuts: new Map(),
  });
}

/** Runs a sign-out. `open` of the namespace waits for it, as do components whose guard it has closed. */
export async function signOutOf(name: string, run: () => Promise<void>): Promise<void> {
  const { signOuts } = registry();
  const running = run().finally(() => {
    if (signOuts.get(name) === running) signOuts.delete(name);
  });
  signOuts.set(name, running);
  await running;
}

/** Opens a namespace for `holder`, or shares the one that is open. Rejects only for wrong options. */
export async function hold(options: OpenOptions, holder: Holder, make: () => Namespace): Promise<Namespace> {
  const { namespace: name } = options;
  const beganMs = Date.now();
  const signOut = registry()
    .signOuts.get(name)
    ?.catch(() => {});
  if (signOut) await withTimeout(OPEN_TIMEOUT_MS, signOut);
  const open = findNamespace(name);
  const namespace = open ?? make();
  if (!open) registry().namespaces.set(name, namespace);
  else if (differs(open.options, options)) {
    const message = `the namespace "${name}" is open with other options: use the same, or close it first`;
    callBack(holder.onError, new SeenGuardError("already-open", message));
  }
  if (__DEV__) {
    const symbols = Object.getOwnPropertySymbols(registries);
    const copies = symbols.filter(({ description }) => description?.startsWith(PREFIX));
    const versions = copies.map((copy) => registries[copy]?.version ?? "");
    if (copies.length > 1) callBack(holder.onError, misuseOfCopies(versions));
  }
  namespace.holders.add(holder);
  namespace.reporter?.opened();
  const { engine, store } = namespace;
  try {
    const started = engine.start(options);
    void finishClears(store, nameOf(name));
    // The clock may jump.
    const waitedMs = Math.max(0, Date.now() - beganMs);
    await withTimeout(OPEN_TIMEOUT_MS - waitedMs, started);
  } catch (error) {
    await release(namespace, holder);
    throw error;
  }
  if (!engine.guard) callBack(holder.onError, engine.failure ?? new SeenGuardError("engine", TIMED_OUT));
  return namespace;
}

/** Releases a namespace. The last holder's release frees it, after its impressions are stored. */
export async function release(namespace: Namespace, holder: Holder): Promise<void> {
  await namespace.flush(CLOSE_TIMEOUT_MS);
  namespace.holders.delete(holder);
  if (namespace.holders.size > 0) return;
  const { namespace: name } = namespace.options;
  if (findNamespace(name) === namespace) registry().namespaces.delete(name);
  namespace.reporter?.end();
  namespace.engine.end();
}

/** The namespace of this name if it is open in this document. */
export function findNamespace(name: string): Namespace | undefined {
  return registry().namespaces.get(name);
}

/** The guard of a namespace that components share. */
export function findShared(name: string): SharedHandle | undefined {
  return registry().shared.get(name);
}

/** Adds a shared guard as the most recently held one. Closes the least recently held ones beyond `MAX_SHARED`. */
export function storeShared(name: string, guard: SharedHandle): void {
  const removed = setLatest(registry().shared, name, guard, MAX_SHARED, ({ isHeld }) => isHeld);
  for (const each of removed) each.close();
}

export function removeShared(name: string): void {
  registry().shared.delete(name);
}

/** The verdicts of a namespace's keyed lists. */
export function keyedVerdicts(name: string): KeyedVerdicts {
  const { verdicts } = registry();
  const keyed = verdicts.get(name) ?? new KeyedVerdicts(name);
  verdicts.set(name, keyed);
  return keyed;
}

/** Deletes the verdicts of a namespace's keyed lists. */
export function clearVerdicts(name: string): void {
  registry().verdicts.get(name)?.clear();
  removeSaved(name);
}

/** Whether the open namespace has other options than requested. A test's clock may replace the app's options. */
function differs(a: OpenOptions, b: OpenOptions): boolean {
  if (a[CLOCK] !== b[CLOCK]) return b[CLOCK] !== undefined;
  const storageOf = ({ storage = "indexeddb" }: OpenOptions) => storage;
  const names = ["windowDays", "remember"] as const;
  return storageOf(a) !== storageOf(b) || names.some((name) => a[name] !== b[name]);
}
