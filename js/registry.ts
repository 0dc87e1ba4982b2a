/**
 * One core for each namespace of a document, whoever opens it: StrictMode mounts twice, a hot reload loads the module again, an app may hold
 * two bundles of this package. The registry lives under a registered symbol, where all copies meet.
 */
import { GuardCore, type Holder } from "./core.js";
import type { WasmSource } from "./engine.js";
import { callBack, SeenGuardError } from "./errors.js";
import type { OpenOptions } from "./options.js";

interface Opened {
  readonly core: GuardCore;
  readonly started: Promise<void>;
}

type Registry = Map<string, Opened>;

/** Copies meet only if they agree on what a core can do: the number grows when that changes. */
const REGISTRY = Symbol.for("seenguard.registry.1");

function registry(): Registry {
  const place = globalThis as unknown as Record<symbol, Registry | undefined>;
  return (place[REGISTRY] ??= new Map<string, Opened>());
}

/** The core of a namespace, started, and held by `holder`. Rejects for wrong options alone. */
export async function hold(options: OpenOptions, wasm: WasmSource | undefined, holder: Holder): Promise<GuardCore> {
  const cores = registry();
  const present = cores.get(options.namespace);
  if (present !== undefined && !present.core.hasFailed) {
    present.core.holders.add(holder);
    if (differs(present.core.options, options)) {
      const message = `the namespace ${JSON.stringify(options.namespace)} is open with other options in this document, which stay in force`;
      callBack(holder.onError, new SeenGuardError("already-open", message));
    }
    await present.started;
    return present.core;
  }
  const core = new GuardCore(options);
  core.holders.add(holder);
  const opened = { core, started: core.start(wasm) };
  cores.set(options.namespace, opened);
  try {
    await opened.started;
  } catch (error) {
    remove(core);
    throw error;
  }
  // Without an engine there is nothing to share: the next one to open tries again.
  if (!core.isAlive) remove(core);
  return core;
}

/** Gives a core back. The last holder's leaving frees it, once what was recorded is in storage. */
export async function release(core: GuardCore, holder: Holder): Promise<void> {
  await core.flush();
  core.holders.delete(holder);
  if (core.holders.size > 0) return;
  remove(core);
  core.free();
}

/** The core of a namespace that is open in this document. */
export function findCore(namespace: string): GuardCore | undefined {
  return registry().get(namespace)?.core;
}

function remove(core: GuardCore): void {
  const cores = registry();
  if (cores.get(core.options.namespace)?.core === core) cores.delete(core.options.namespace);
}

function differs(a: OpenOptions, b: OpenOptions): boolean {
  const storageOf = ({ storage = "indexeddb" }: OpenOptions) => storage;
  return storageOf(a) !== storageOf(b) || a.windowDays !== b.windowDays;
}
