/**
 * The host's services, which may be missing or late: clocks, timers, events of the page's lifecycle.
 */

/**
 * The result of a function, or `undefined` if it throws. Even reading `localStorage` throws where access is denied.
 */
export function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

/** An address resolved against the page; undefined: it is relative and there is no base, as in Node. */
export function urlOf(address: string): URL | undefined {
  const { document, location } = globalThis as Partial<typeof globalThis>;
  return attempt(() => new URL(address, document?.baseURI ?? location?.href));
}

/** The longest delay of timers. */
export const MAX_MS = 2 ** 31 - 1;

export interface Clock {
  /** Unix ms. It may jump. */
  wallMs(): number;
  /** Runs a function once, after this many milliseconds. Returns cancel. */
  after(ms: number, run: () => void): () => void;
}

/** The device's clock. Each call looks the global up, so that tests can replace it. */
export const deviceClock: Clock = {
  wallMs: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Resolves in a new task, after other tasks have run. In the background browsers delay timers by a second or more, but
 * not messages.
 */
export function nextTask(): Promise<void> {
  if (typeof MessageChannel === "undefined") return pause();
  const { port1, port2 } = new MessageChannel();
  port2.postMessage(undefined);
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
  });
}

/** After this time a long loop lets other tasks run: no task may take over 50 ms, even on a slow device. */
const TASK_MS = 8;

/** A function to await between the steps of a long loop: it resolves in a new task if the current one is long. */
export function yielding(clock: Clock): () => Promise<void> {
  let beganMs = clock.wallMs();
  return async () => {
    // The clock may jump.
    if (Math.abs(clock.wallMs() - beganMs) < TASK_MS) return;
    await nextTask();
    beganMs = clock.wallMs();
  };
}

/** The option of `SeenGuard.open` that sets another clock. Only `seenguard/testing` uses it. */
export const CLOCK = Symbol.for("seenguard.clock");

export interface ClockOption {
  readonly [CLOCK]?: Clock | undefined;
}

/** The result of `work`, or `undefined` after a timeout: a storage that does not respond must not block a feed. */
export function withTimeout<T>(ms: number, work: T | PromiseLike<T>, late?: Error): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => (late ? reject(late) : resolve(undefined)), ms);
    void Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** The result of `work`; rejects after a timeout, so that the app's code cannot stop delivery permanently. */
export function rejectAfter<T>(ms: number, whose: string, work: T | PromiseLike<T>): Promise<T> {
  const late = new Error(`${whose} timed out after ${ms / 1000} s`);
  return withTimeout(ms, work, late) as Promise<T>;
}

/** The delay after this many earlier failures in a row: doubling from a second, with jitter. */
export function retryDelayMs(failures: number, maxMs: number): number {
  return Math.min(1_000 * 2 ** failures, maxMs) * (0.5 + Math.random() / 2);
}

/** Resolves in a new task after this many milliseconds. */
export function pause(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Whether this may be a user's device: a page or a worker. Elsewhere, as in server rendering, there is no user to
 * remember impressions for.
 */
export function isOnDevice(): boolean {
  return typeof document !== "undefined" || "WorkerGlobalScope" in globalThis || typeof indexedDB !== "undefined";
}

/** Listens to events of the page or worker. Returns stop. */
export function listen(types: readonly string[], onEvent: (event: Event) => void): () => void {
  if (typeof addEventListener === "undefined") return () => {};
  // All events of a page pass the window in the capture phase. workerd refuses the option.
  const options = { capture: typeof document !== "undefined" };
  for (const type of types) addEventListener(type, onEvent, options);
  return () => {
    for (const type of types) removeEventListener(type, onEvent, options);
  };
}

/** A worker, which has no such state, counts as visible. */
export function isHidden(): boolean {
  // oxlint-disable-next-line typescript/prefer-optional-chain -- a worker has no such name
  return typeof document !== "undefined" && document.visibilityState === "hidden";
}

const [ELEMENT, DOCUMENT, FRAGMENT] = [1, 9, 11];

/**
 * Decides by `nodeType`: an element of another document, such as a frame's, is not an instance of this one's classes.
 */
export function isElement(node: unknown): node is Element {
  return nodeTypeOf(node) === ELEMENT;
}

export function isRoot(node: unknown): node is Element | Document | ShadowRoot {
  const type = nodeTypeOf(node);
  return (
    type === ELEMENT || type === DOCUMENT || (type === FRAGMENT && (node as Partial<ShadowRoot>).host !== undefined)
  );
}

/** Proxies may throw. */
const nodeTypeOf = (node: unknown) => attempt(() => (node as Node).nodeType);
