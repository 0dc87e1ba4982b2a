/**
 * One guard for each namespace, shared by all components that hold it. It is opened for the first of them and closed
 * when the last one has gone: a task later, so that a remount (StrictMode, a change of routes) closes nothing.
 */
import type { SharedGuardOptions } from "../types/react.js";
import type { SeenGuard } from "../types/seenguard.js";

interface SharedGuard {
  readonly opening: Promise<SeenGuard>;
  /** Of each holder: called when the opening has ended. */
  readonly listeners: Set<() => void>;
  guard?: SeenGuard;
  /** What `open` rejected with: the options are wrong. */
  failure?: { readonly error: unknown };
}

const shared = new Map<string, SharedGuard>();

/** The guard of a namespace, if it is open. Throws what its opening rejected with. */
export function openGuard(namespace: string): SeenGuard | undefined {
  const { guard, failure } = shared.get(namespace) ?? {};
  if (failure) throw failure.error;
  return guard;
}

/** Holds the guard of `options.namespace`. `onOpen` is called when `openGuard` answers. Returns release. */
export function holdGuard(options: SharedGuardOptions, onOpen: () => void): () => void {
  const { namespace } = options;
  const held = shared.get(namespace) ?? open(options);
  shared.set(namespace, held);
  const listener = () => onOpen();
  held.listeners.add(listener);
  return () => {
    held.listeners.delete(listener);
    // Who has put the options right may try again at once.
    if (held.failure) leave(namespace, held);
    else setTimeout(leave, 0, namespace, held);
  };
}

function open({ open: openGiven = openDefault, ...options }: SharedGuardOptions): SharedGuard {
  const opened: SharedGuard = { opening: openGiven(options), listeners: new Set() };
  opened.opening
    .then(
      (guard) => {
        opened.guard = guard;
      },
      (error: unknown) => {
        opened.failure = { error };
      },
    )
    .finally(() => opened.listeners.forEach((listener) => listener()));
  return opened;
}

/** Loads the entry only then: an app that uses another one does not load the engine twice. */
const openDefault: NonNullable<SharedGuardOptions["open"]> = async (options) => {
  const entry = await import("seenguard");
  return entry.SeenGuard.open(options);
};

/** Closes a guard that nobody holds. Its namespace can be opened anew meanwhile. */
function leave(namespace: string, left: SharedGuard): void {
  if (left.listeners.size > 0 || shared.get(namespace) !== left) return;
  shared.delete(namespace);
  left.opening.then(
    (guard) => guard.close(),
    () => {},
  );
}
