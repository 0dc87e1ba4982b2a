/**
 * Performs what the engine's storage protocol decides, one operation after the other, and tells it what happens: that
 * another tab has written, the page hides, time has passed. Which keys are read, written and removed, and when, is
 * decided there alone.
 */
import { inNextTask, type Clock } from "../clock.js";
import type { EngineGuard } from "../engine/engine-guard.js";
import { describe, SeenGuardError, type ErrorListener } from "../errors.js";
import { isHidden, listen } from "../page.js";
import type { GuardStats } from "../types/seenguard.js";
import type { KeyValueStore } from "./key-value-store.js";
import { isWebKey, readWebKey, removeWebKeys, webKeys, writeWebKey } from "./web-keys.js";

/** What `Guard.next` and `Guard.hide` return; else 4: remove. */
const WAIT = 0;
const LIST = 1;
const READ = 2;
const WRITE = 3;

/** The flags of `Guard.status`: how it is … */
const LOADED = 1;
const SETTLED = 2;
const CLEARING = 4;
const FULL = 8;
const UNAVAILABLE = 16;
/** … and what has happened since the last call. */
const TROUBLE_BEGAN = 32;
const DAMAGED = 64;
const NEWER = 128;
const DAMAGED_SNAPSHOT = 256;
const SIGNAL = 512;
const FAILED = 1024;

const MESSAGES: readonly (readonly [flag: number, message: string])[] = [
  [DAMAGED, "stored impressions are damaged and set aside; what can be read is kept"],
  [NEWER, "stored impressions of a newer version are left alone"],
  [DAMAGED_SNAPSHOT, "the stored snapshot is damaged and removed"],
];

const NO_ANSWER = new Error("the storage does not answer");

interface Waiter {
  readonly isOver: (status: number) => boolean;
  readonly resolve: (status: number) => void;
}

export class StoragePerformer {
  private readonly guard: EngineGuard;
  private readonly clock: Clock;
  private readonly report: ErrorListener;
  private store: KeyValueStore | undefined;
  /** The answer to the first listing, which was asked for when the store was opened. */
  private listed: Promise<readonly string[]> | undefined;
  private waiters: Waiter[] = [];
  private stops: (() => void)[] = [];
  private cancelTimer = (): void => {};
  private cancelTimeout = (): void => {};
  private isStopped = false;
  private willRun = false;
  /** Why the latest operation failed, if it does. */
  private cause: unknown = NO_ANSWER;

  constructor(guard: EngineGuard, clock: Clock, report: ErrorListener) {
    this.guard = guard;
    this.clock = clock;
    this.report = report;
  }

  /** Begins with a store, or without one. Resolves when what is stored is loaded, or cannot be. */
  async begin(store: KeyValueStore | undefined, listed?: Promise<readonly string[]>): Promise<void> {
    if (this.isStopped) return store?.close?.();
    this.store = store;
    this.listed = listed;
    const { performance } = globalThis as Partial<typeof globalThis>;
    const undisturbedMs = performance ? performance.timeOrigin + performance.now() : NaN;
    this.guard.call((guard) => {
      if (store) guard.beginStorage(this.hasSignals, store.kind === "indexeddb", undisturbedMs);
      else guard.withoutStorage();
    });
    const loaded = this.until((status) => (status & (LOADED | FAILED)) !== 0);
    this.run();
    await loaded;
  }

  /**
   * Listens to the page and to other tabs. This looks into localStorage, which browsers load when it is first used: a
   * first visit starts sooner without.
   */
  listen(): void {
    if (!this.store || this.isStopped) return;
    const onPageEvent = ({ type }: Event) => {
      if (type === "pagehide" || isHidden()) this.hide();
      // A page that was frozen or in the back/forward cache heard nothing.
      else if (this.hasSignals) this.look();
    };
    this.stops.push(listen(["pagehide", "pageshow", "visibilitychange"], onPageEvent));
    if (!this.hasSignals) return;
    const [signal = "", stashes = ""] = this.guard.call((guard) => [guard.signalKey, guard.stashPrefix]) ?? [];
    // WebKit tells of changes only to pages that have looked into localStorage themselves.
    readWebKey(signal);
    const onStorageEvent = (event: Event) => {
      const { key, newValue } = event as StorageEvent;
      if (key === null || key === signal || (newValue !== null && key.startsWith(stashes))) this.look();
    };
    this.stops.push(listen(["storage"], onStorageEvent));
    // What was written since the loading sent no signal that was heard.
    this.look();
  }

  /** Which storage it is, or what is wrong with it. */
  get storage(): GuardStats["storage"] {
    const status = this.settle();
    if (status & FULL) return "full";
    return status & UNAVAILABLE ? "unavailable" : (this.store?.kind ?? "unavailable");
  }

  /** There is something to be done, such as to write what was recorded: it is begun as soon as the present task ends. */
  changed(): void {
    if (this.willRun) return;
    this.willRun = true;
    queueMicrotask(() => {
      this.willRun = false;
      this.run();
    });
  }

  /** Resolves when all that was recorded so far is in storage, or could not be written. */
  async flush(): Promise<void> {
    this.guard.call((guard) => guard.flush());
    const flushed = this.until((status) => (status & (SETTLED | FAILED)) !== 0);
    this.run();
    await flushed;
  }

  /**
   * Forgets at once what is in memory, then what is stored, if it was recorded before `calledAtMs`. Rejects if the
   * storage fails; the protocol tries again all the same.
   */
  async clear(calledAtMs: number): Promise<void> {
    this.guard.call((guard, [, steadyMs]) => guard.clear(calledAtMs, steadyMs));
    const cleared = this.until((status) => (status & CLEARING) === 0 || (status & FAILED) !== 0);
    this.run();
    if ((await cleared) & FAILED) throw this.cause;
  }

  /** Somebody has waited in vain. */
  timedOut(): void {
    this.guard.call((guard) => guard.timedOut());
    this.settle();
  }

  /** Stops listening and performing. What is being written goes on. */
  stop(): void {
    this.isStopped = true;
    this.cancelTimer();
    this.cancelTimeout();
    for (const stop of this.stops) stop();
    for (const { resolve } of this.waiters.splice(0)) resolve(FAILED);
    this.store?.close?.();
  }

  private until(isOver: Waiter["isOver"]): Promise<number> {
    if (this.isStopped) return Promise.resolve(FAILED);
    return new Promise((resolve) => this.waiters.push({ isOver, resolve }));
  }

  /** Whether other tabs share the storage, and hear by events of localStorage. */
  private get hasSignals(): boolean {
    return this.store?.kind !== "custom";
  }

  private look(): void {
    this.guard.call((guard) => guard.look());
    this.changed();
  }

  /** Begins the next operation, if there is any, and waits until there may be another. */
  private readonly run = (): void => {
    if (this.isStopped) return;
    this.cancelTimer();
    const kind = this.guard.call((guard, now) => guard.next(...now)) ?? WAIT;
    this.settle();
    if (kind === WAIT) this.runLater();
    else void this.perform(kind);
  };

  private runLater(): void {
    const waitMs = (this.guard.call((guard) => guard.untilMs) ?? Infinity) - this.clock.steadyMs();
    if (waitMs === Infinity || this.isStopped) return;
    this.cancelTimer = waitMs > 0 ? this.clock.after(waitMs, this.run) : inNextTask(this.run);
  }

  /** What can be done at once is done when this returns: localStorage has a value before the task ends. */
  private async perform(kind: number): Promise<void> {
    const { guard } = this;
    const operation = guard.call(
      (guard) => [guard.operation, guard.operationKeys(), guard.operationText(), guard.operationMs] as const,
    );
    if (!operation) return;
    const [number, keys, text, timeoutMs] = operation;
    const fail = (cause: unknown): void => {
      this.cause = cause;
      guard.call((guard, now) => guard.failed(number, isQuotaError(cause), ...now));
    };
    const onTimeout = (): void => {
      fail(NO_ANSWER);
      this.run();
    };
    const cancelTimeout = (this.cancelTimeout = this.clock.after(timeoutMs, onTimeout));
    try {
      if (kind === LIST) {
        const found = await this.list(keys);
        guard.callWithAll(found, (guard, batch, now) => guard.listed(number, batch, ...now));
      } else if (kind === READ) {
        const found = await this.read(keys);
        guard.callWithAll(found, (guard, batch, now) => guard.found(number, batch, ...now));
      } else {
        await (kind === WRITE ? this.store?.write(keys[0] ?? "", text) : this.remove(keys, text));
        guard.call((guard, now) => guard.done(number, ...now));
      }
    } catch (cause) {
      fail(cause);
    }
    cancelTimeout();
    this.run();
  }

  private async list(prefixes: readonly string[]): Promise<string[]> {
    const { store, listed } = this;
    this.listed = undefined;
    const found: string[] = [];
    for (const prefix of prefixes) {
      if (!isWebKey(prefix)) found.push(...((await (listed ?? store?.keys(prefix))) ?? []));
      // A new database has no stashes, and a first visit starts sooner without localStorage.
      else if (store?.kind === "indexeddb" && !store.isNew) found.push(...webKeys(prefix));
    }
    return found;
  }

  /** The keys that are there, each followed by its text. */
  private async read(keys: readonly string[]): Promise<string[]> {
    const stored = keys.filter((key) => !isWebKey(key));
    const texts = stored.length > 0 ? await this.store?.read(stored) : undefined;
    const pairs = [
      ...stored.map((key, index) => [key, texts?.[index]] as const),
      ...keys.filter(isWebKey).map((key) => [key, readWebKey(key)] as const),
    ];
    return pairs.flatMap(([key, text]) => (text === undefined ? [] : [key, text]));
  }

  /** `onlyIf`: if not empty, the text that a stash must still have. */
  private async remove(keys: readonly string[], onlyIf: string): Promise<void> {
    removeWebKeys(keys.filter((key) => isWebKey(key) && (onlyIf === "" || readWebKey(key) === onlyIf)));
    const stored = keys.filter((key) => !isWebKey(key));
    if (stored.length > 0) await this.store?.remove(stored);
  }

  /** The page hides, and may never run again: what is not yet in storage is given to it at once. */
  private hide(): void {
    const kind = this.guard.call((guard, now) => guard.hide(...now)) ?? WAIT;
    const [key = "", stash = ""] = this.guard.call((guard) => [guard.stashKey, guard.stashText()]) ?? [];
    if (stash !== "") writeWebKey(key, stash);
    if (kind !== WAIT) void this.perform(kind);
    this.run();
  }

  /** Tells the app and other tabs what there is to tell, and those who wait for it that it is so. Returns the status. */
  private settle(): number {
    const status = this.guard.call((guard) => guard.status()) ?? 0;
    if (status & SIGNAL) this.guard.call((guard) => writeWebKey(guard.signalKey, guard.signalText()));
    this.waiters = this.waiters.filter(({ isOver, resolve }) => {
      const goesOn = !isOver(status);
      if (!goesOn) resolve(status);
      return goesOn;
    });
    if (status & TROUBLE_BEGAN) this.report(this.trouble(status));
    for (const [flag, message] of MESSAGES) if (status & flag) this.report(new SeenGuardError("storage", message));
    return status;
  }

  private trouble(status: number): SeenGuardError {
    const { cause } = this;
    if (status & FULL) {
      const message = "the storage is full: what does not fit is kept in memory and tried again";
      return new SeenGuardError("storage-full", message, cause);
    }
    const failure = cause === NO_ANSWER ? "does not answer" : `failed: ${describe(cause)}`;
    return new SeenGuardError("storage", `the storage ${failure}`, cause);
  }
}

/** Engines have several names for it. */
function isQuotaError(cause: unknown): boolean {
  try {
    return /quota/i.test((cause as Error).name);
  } catch {
    // Anything may be thrown: a symbol, nothing at all, an object whose getters throw.
    return false;
  }
}
