/**
 * One core for each namespace of a document, for all holders: StrictMode mounts twice, a hot reload loads the module
 * again, an app may hold two bundles of this package. The registry lives under a registered symbol, where all copies
 * meet.
 */
import { CLOCK } from "../clock.js";
import type { Engines } from "../engine/load.js";
import { callBack, SeenGuardError } from "../errors.js";
import { removeSaved, SharedVerdicts } from "../feed/shared-verdicts.js";
import type { Verdicts } from "../feed/verdicts.js";
import { GuardCore, type GuardUser } from "./core.js";
import type { OpenOptions } from "./options.js";

interface Registry {
  readonly cores: Map<string, GuardCore>;
  /** What the feeds of a namespace share. It outlives its core: a list is there again when the next page opens it. */
  readonly verdicts: Map<string, SharedVerdicts>;
}

/** Copies meet only if they agree on what a core can do: the number grows when that changes. */
const REGISTRY = Symbol.for("seenguard.registry.10");
/** How long `close` waits for a storage that does not answer. */
const CLOSE_TIMEOUT_MS = 2_000;

function registry(): Registry {
  const place = globalThis as unknown as Record<symbol, Registry | undefined>;
  return (place[REGISTRY] ??= { cores: new Map(), verdicts: new Map() });
}

/** The core of a namespace, started, and held by `user`. Rejects for wrong options alone. */
export async function hold(options: OpenOptions, engines: Engines, user: GuardUser): Promise<GuardCore> {
  const { namespace } = options;
  let core = findCore(namespace);
  if (!core || core.hasFailed) {
    core = new GuardCore(options, engines);
    core.started = core.start();
    registry().cores.set(namespace, core);
  } else if (differs(core.options, options)) {
    const message = `the namespace "${namespace}" is open with other options, which stay in force`;
    callBack(user.onError, new SeenGuardError("already-open", message));
  }
  core.users.add(user);
  try {
    await core.started;
  } finally {
    // Without an engine there is nothing to share: the next one to open tries again.
    if (!core.isAlive) remove(core);
  }
  return core;
}

/** Gives a core back. The last user's leaving frees it, once what was recorded is in storage. */
export async function release(core: GuardCore, user: GuardUser): Promise<void> {
  await core.flush(CLOSE_TIMEOUT_MS);
  core.users.delete(user);
  if (core.users.size > 0) return;
  remove(core);
  core.free();
}

/** The core of a namespace that is open in this document. */
export function findCore(namespace: string): GuardCore | undefined {
  return registry().cores.get(namespace);
}

/** The verdicts of a namespace's feeds of one key. */
export function sharedVerdicts(namespace: string, key: string): Verdicts {
  const { verdicts } = registry();
  const shared = verdicts.get(namespace) ?? new SharedVerdicts(namespace);
  verdicts.set(namespace, shared);
  return shared.of(key);
}

/** Forgets the verdicts of a namespace's feeds. */
export function clearVerdicts(namespace: string): void {
  registry().verdicts.get(namespace)?.clear();
  removeSaved(namespace);
}

function remove(core: GuardCore): void {
  const { namespace } = core.options;
  if (findCore(namespace) === core) registry().cores.delete(namespace);
}

/** Whether what is open is not what is asked for. A test's clock takes the place of what an app asks for. */
function differs(a: OpenOptions, b: OpenOptions): boolean {
  if (a[CLOCK] !== b[CLOCK]) return b[CLOCK] !== undefined;
  const storageOf = ({ storage = "indexeddb" }: OpenOptions) => storage;
  const names = ["windowDays", "remember"] as const;
  return storageOf(a) !== storageOf(b) || names.some((name) => a[name] !== b[name]);
}
