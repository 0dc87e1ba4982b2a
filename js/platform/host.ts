/**
 * What the host may lack or may not do in time, and what it tells: clocks, timers, the page's coming and going.
 */

/**
 * The result of something that may throw; `undefined` if it does. Merely reading localStorage throws where it is
 * denied.
 */
export function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

/** An address as the page reads it; undefined: without a base, as in Node, it is none. */
export function urlOf(address: string): URL | undefined {
  const { document, location } = globalThis as Partial<typeof globalThis>;
  return attempt(() => new URL(address, document?.baseURI ?? location?.href));
}

/** The longest time that timers take. */
export const MAX_MS = 2 ** 31 - 1;

export interface Clock {
  /** Unix ms. It may jump. */
  wallMs(): number;
  /** Runs something once, so many milliseconds later. Returns cancel. */
  after(ms: number, run: () => void): () => void;
}

/** The device's. Each call looks the global up. */
export const deviceClock: Clock = {
  wallMs: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Resolves in a task of its own, once others had their turn. In the background browsers let timers wait for a second or
 * more, but not messages.
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

/** The option of `SeenGuard.open` that brings another clock. Only `seenguard/testing` knows it. */
export const CLOCK = Symbol.for("seenguard.clock");

export interface ClockOption {
  readonly [CLOCK]?: Clock | undefined;
}

/** What `work` comes to; after so long `undefined`: a storage that never answers must not hold up a feed. */
export function withTimeout<T>(ms: number, work: T | PromiseLike<T>, late?: Error): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => (late ? reject(late) : resolve(undefined)), ms);
    void Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** The same, but rejects after so long: what is the app's must not stop delivery for good. */
export function inTime<T>(ms: number, whose: string, work: T | PromiseLike<T>): Promise<T> {
  const late = new Error(`${whose} has not answered within ${ms / 1000} s`);
  return withTimeout(ms, work, late) as Promise<T>;
}

/** How long to wait after so many failures in a row before this one: doubling from a second, with jitter. */
export function retryDelayMs(failures: number, mostMs: number): number {
  return Math.min(1_000 * 2 ** failures, mostMs) * (0.5 + Math.random() / 2);
}

/** Resolves in a task of its own, so many milliseconds later: others run before. */
export function pause(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Whether this may be somebody's device: a page or a worker. Elsewhere, as where a server renders, there is nobody to
 * remember anything for.
 */
export function isOnDevice(): boolean {
  return typeof document !== "undefined" || "WorkerGlobalScope" in globalThis || typeof indexedDB !== "undefined";
}

/** Listens to events of the page or worker. Returns stop. */
export function listen(types: readonly string[], onEvent: (event: Event) => void): () => void {
  if (typeof addEventListener === "undefined") return () => {};
  // All of a page's events pass the window on their way. workerd refuses the option.
  const options = { capture: typeof document !== "undefined" };
  for (const type of types) addEventListener(type, onEvent, options);
  return () => {
    for (const type of types) removeEventListener(type, onEvent, options);
  };
}

/** A worker, which has no such state, counts as visible. */
export function isHidden(): boolean {
  return typeof document !== "undefined" && document.visibilityState === "hidden";
}
