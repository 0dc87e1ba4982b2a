/**
 * The namespaces that are open in a document, each once for all its holders: StrictMode mounts twice, a hot reload loads
 * the module again, an app may hold two bundles of this package. The registry lives under a registered symbol, where all
 * copies meet.
 */
import { CLOCK, withTimeout } from "../platform/host.js";
import type { Engines } from "../engine/load.js";
import { callBack, SeenGuardError } from "../errors.js";
import { KeyedVerdicts, removeSaved } from "../feed/keyed-verdicts.js";
import { misuseOfCopies } from "../input/misuse.js";
import { Namespace, type Holder } from "./namespace.js";
import type { OpenOptions } from "./options.js";

/** Of package.json: the build puts it in. */
declare const PACKAGE_VERSION: string;

interface Registry {
  /** Of the package that has made it. */
  readonly version: string;
  readonly namespaces: Map<string, Namespace>;
  /** Of a namespace's keyed lists. They outlive it: a list is there again when the next route opens it. */
  readonly verdicts: Map<string, KeyedVerdicts>;
}

const PREFIX = "seenguard.registry.";
/** Copies share one only if they agree on what a namespace can do: the number grows when that changes. */
const REGISTRY = Symbol.for(PREFIX + "1");
/** How long `open` waits for an engine that does not come. */
const OPEN_TIMEOUT_MS = 10_000;
const NOT_YET = "the engine has not come within 10 s: everything passes until it does";
/** How long `close` waits for a storage that does not answer. */
const CLOSE_TIMEOUT_MS = 2_000;

const shared = globalThis as unknown as Record<symbol, Registry | undefined>;

function registry(): Registry {
  return (shared[REGISTRY] ??= { version: PACKAGE_VERSION, namespaces: new Map(), verdicts: new Map() });
}

/** A namespace, started, and held by `holder`. Rejects for wrong options alone. */
export async function hold(options: OpenOptions, engines: Engines, holder: Holder): Promise<Namespace> {
  const { namespace: name } = options;
  const open = findNamespace(name);
  const namespace = open ?? new Namespace(options, engines);
  if (!open) registry().namespaces.set(name, namespace);
  else if (differs(open.options, options)) {
    const message = `the namespace "${name}" is open with other options, which stay in force`;
    callBack(holder.onError, new SeenGuardError("already-open", message));
  }
  const copies = Object.getOwnPropertySymbols(shared).filter(({ description }) => description?.startsWith(PREFIX));
  if (copies.length > 1) callBack(holder.onError, misuseOfCopies(copies.map((copy) => shared[copy]?.version ?? "")));
  namespace.holders.add(holder);
  namespace.reporter?.opened();
  try {
    await withTimeout(OPEN_TIMEOUT_MS, namespace.start(options));
  } catch (error) {
    await release(namespace, holder);
    throw error;
  }
  if (!namespace.isAlive) callBack(holder.onError, namespace.failure ?? new SeenGuardError("engine", NOT_YET));
  return namespace;
}

/** Gives a namespace back. The last holder's leaving frees it, once what was recorded is in storage. */
export async function release(namespace: Namespace, holder: Holder): Promise<void> {
  await namespace.flush(CLOSE_TIMEOUT_MS);
  namespace.holders.delete(holder);
  if (namespace.holders.size > 0) return;
  const { namespace: name } = namespace.options;
  if (findNamespace(name) === namespace) registry().namespaces.delete(name);
  namespace.free();
}

/** A namespace that is open in this document. */
export function findNamespace(name: string): Namespace | undefined {
  return registry().namespaces.get(name);
}

/** The verdicts of a namespace's keyed lists. */
export function keyedVerdicts(name: string): KeyedVerdicts {
  const { verdicts } = registry();
  const keyed = verdicts.get(name) ?? new KeyedVerdicts(name);
  verdicts.set(name, keyed);
  return keyed;
}

/** Forgets them. */
export function clearVerdicts(name: string): void {
  registry().verdicts.get(name)?.clear();
  removeSaved(name);
}

/** Whether what is open is not what is asked for. A test's clock takes the place of what an app asks for. */
function differs(a: OpenOptions, b: OpenOptions): boolean {
  if (a[CLOCK] !== b[CLOCK]) return b[CLOCK] !== undefined;
  const storageOf = ({ storage = "indexeddb" }: OpenOptions) => storage;
  const names = ["windowDays", "remember"] as const;
  return storageOf(a) !== storageOf(b) || names.some((name) => a[name] !== b[name]);
}
