/**
 * The guard of a namespace, shared by all components that hold it. It stays open with the document. A component that
 * releases it is removed one task late, so that a remount (StrictMode, `<Activity>`, Fast Refresh, a change of routes)
 * closes nothing.
 */
import { callBack, failure, refuse, SeenGuardError, warnOnce } from "../errors.js";
import { findShared, storeShared, removeShared, type SharedHandle } from "../guard/registry.js";
import type { SeenGuardState, UseSeenGuardOptions } from "../types/react.js";
import type { GuardOptions, SeenGuard } from "../types/seenguard.js";
import { withLatest } from "./latest.js";

/** Timeout of `open`, for example if a download hangs, after which everything passes. */
const OPEN_TIMEOUT_MS = 15_000;

/** Returns the options of a component's latest rendering. */
type Component = () => UseSeenGuardOptions | null | undefined;

export const SIGNED_OUT: SeenGuardState = { guard: null, status: "signed-out" };
export const OPENING: SeenGuardState = { guard: undefined, status: "opening" };
const FAILED: SeenGuardState = { guard: null, status: "failed" };

/** The guard of a namespace, the same object until that changes. Throws errors of its options. */
export function stateOf(namespace: string | undefined): SeenGuardState {
  return namespace ? (sharedOf(namespace)?.shown ?? OPENING) : SIGNED_OUT;
}

/** Holds the guard of the options' namespace. Calls `onChange` when `stateOf` changes. Returns release. */
export function holdGuard(component: Component, onChange: () => void): () => void {
  const namespace = component()?.namespace;
  if (!namespace) return () => {};
  return (sharedOf(namespace) ?? new SharedGuard(namespace)).hold(component, onChange);
}

const sharedOf = (namespace: string) => findShared(namespace) as SharedGuard | undefined;

class SharedGuard implements SharedHandle {
  private readonly namespace: string;
  private state = OPENING;
  /** The error of wrong options. */
  private failure: { readonly error: unknown } | undefined;
  private isOpening = false;
  /** Whether the latest guard was already closed when `open` resolved. */
  private wasClosed = false;
  private readonly components = new Map<Component, () => void>();
  private readonly warn = warnOnce();

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  get isHeld(): boolean {
    return this.components.size > 0;
  }

  /** After a failure, mounted components show everything; one that mounts first waits for the next attempt. */
  get shown(): SeenGuardState {
    if (this.failure) throw this.failure.error;
    return this.state === FAILED && !this.isHeld ? OPENING : this.state;
  }

  /** Returns release. */
  hold(component: Component, onChange: () => void): () => void {
    const { namespace, components } = this;
    if (!this.failure) this.state = this.shown;
    components.set(component, onChange);
    storeShared(namespace, this);
    if (!this.state.guard && !this.isOpening) this.open(component);
    return () => {
      components.delete(component);
      // Corrected options are tried at once.
      if (this.failure && !this.isHeld) removeShared(namespace);
      else setTimeout(() => this.isShared && storeShared(namespace, this));
    };
  }

  close(): void {
    void this.state.guard?.close();
  }

  private get isShared(): boolean {
    return findShared(this.namespace) === this;
  }

  private open(component: Component): void {
    const { open, ...options } = { ...component() } as UseSeenGuardOptions;
    this.isOpening = true;
    const late = `it timed out after ${OPEN_TIMEOUT_MS / 1000} s`;
    const timer = setTimeout(() => this.failed(late), OPEN_TIMEOUT_MS);
    new Promise<SeenGuard>((resolve) => {
      if (typeof open !== "function")
        refuse("`open` is missing: pass that of seenguard/lazy, or SeenGuard.open of the entry that the app uses");
      const latest = withLatest<GuardOptions>(options, (name) => this.latest(name));
      resolve(open({ ...latest, onError: this.onError }));
    })
      .then(this.opened, this.failed)
      .finally(() => clearTimeout(timer));
  }

  private readonly opened = (guard: SeenGuard): void => {
    this.isOpening = false;
    if (this.state.guard || !this.isShared) return void guard.close();
    const wasClosed = this.wasClosed;
    this.wasClosed = isClosed(guard);
    if (this.wasClosed) {
      // A sign-out has closed it meanwhile; twice in a row means that `open` returns the same closed guard.
      if (wasClosed) this.failed("`open` returns a closed guard");
      else this.closed();
      return;
    }
    guard.subscribe(() => {
      if (this.state.guard === guard && isClosed(guard)) this.closed();
    });
    this.change({ guard, status: "ready" });
  };

  /** The guard was closed: mounted components need another one. */
  private closed(): void {
    this.change(OPENING);
    const [component] = this.components.keys();
    if (component) this.open(component);
  }

  private readonly failed = (error: unknown): void => {
    this.isOpening = false;
    if (error instanceof SeenGuardError && error.code === "bad-option") this.failure = { error };
    else {
      if (!this.state.guard) this.state = FAILED;
      this.onError(
        failure("engine", "the guard is not open, and everything passes until the next mount tries again", error),
      );
    }
    this.change(this.state);
  };

  private change(state: SeenGuardState): void {
    this.state = state;
    for (const onChange of [...this.components.values()]) onChange();
  }

  private readonly onError = (error: SeenGuardError): void => {
    callBack(this.latest("onError") ?? this.warn, error);
  };

  /** An option of the first component that has it. */
  private latest<Name extends keyof UseSeenGuardOptions>(name: Name): UseSeenGuardOptions[Name] | undefined {
    return [...this.components.keys()].map((component) => component()?.[name]).find(Boolean);
  }
}

/** Whether a guard is closed: then it refuses every snapshot, also an absent one. */
export function isClosed(guard: SeenGuard): boolean {
  const result = guard.apply(undefined);
  return "reason" in result && result.reason === "closed";
}
