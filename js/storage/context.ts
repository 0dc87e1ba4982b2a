/**
 * The state that the operations on one namespace's storage share: the store and its failures, the engine, the
 * generation, and the rows that the table contains. After each `await` an operation checks that it may still run and
 * that the generation is the one with which it began; otherwise it drops what it has read.
 */
import type { EngineGuard } from "../engine/engine-guard.js";
import { describe, errorNameOf, SeenGuardError, type ErrorListener } from "../errors.js";
import { isHidden, type Clock } from "../platform/host.js";
import * as keys from "./keys.js";
import { CALL_TIMEOUT_MS, type Change, type Store } from "./port.js";
import { Retry } from "./retry.js";
import { Stash } from "./stash.js";
import { VisibleTimers } from "./timers.js";

/** The number of recordings of a row that cannot be decoded. */
export const DAMAGED = -1;

export interface Listeners {
  readonly report: ErrorListener;
  /** Called after a load and after a reset, which may have changed the table. */
  readonly onRead: () => void;
  /** Called when a clear has reset memory; `keeps`: except the tab's own recordings. */
  readonly onReset: (keeps: boolean) => void;
}

export class StorageContext {
  /** The generation of the latest known clear; 0: none. */
  generation: number;
  engine: EngineGuard | undefined;
  /** The rows that the table contains, each with its number of recordings. */
  readonly rows = new Map<string, number>();
  /** The keys of older generations in the latest listing. */
  older: readonly string[] = [];
  /** Whether the first load has ended. */
  hasLoaded = false;
  readonly timers: VisibleTimers;
  readonly stash: Stash | undefined;
  /** Resolves when the engine is attached. */
  readonly isAttached: Promise<void>;
  private attached = (): void => {};
  private isStopped = false;
  private readonly keyMaker = new keys.KeyMaker();
  private readonly retries: Retry[] = [];
  /** The end of the queue of loads and compactions. */
  private lastQueued: Promise<void> | undefined;

  constructor(
    readonly store: Store,
    readonly name: string,
    generation: number,
    readonly clock: Clock,
    readonly listeners: Listeners,
  ) {
    this.stash = store.kind === "indexeddb" ? new Stash(name, this.keyMaker) : undefined;
    this.timers = new VisibleTimers(clock);
    this.generation = Math.max(generation, keys.localGeneration(name));
    this.isAttached = new Promise((resolve) => (this.attached = resolve));
  }

  attach(engine: EngineGuard): void {
    this.engine = engine;
    this.attached();
  }

  stop(): void {
    this.isStopped = true;
    this.timers.stop();
  }

  isEnded(): boolean {
    return this.isStopped;
  }

  isCurrent(generation: number): boolean {
    return !this.isStopped && generation === this.generation;
  }

  /** Whether the generation is known well enough to write under it. */
  mayWrite(): boolean {
    return !this.isStopped && (this.readSignal() || this.hasLoaded || isHidden());
  }

  // The generation.

  /** Reads the generation that other tabs have written. Returns whether there was a signal. */
  readSignal(): boolean {
    const signal = keys.readGeneration(keys.SIGNAL + this.name);
    this.learn(Math.max(signal ?? 0, keys.readGeneration(keys.CLEAR + this.name) ?? 0));
    return signal !== undefined;
  }

  writeSignal(): void {
    this.readSignal();
    keys.writeGeneration(keys.SIGNAL + this.name, this.generation);
  }

  /**
   * Adopts a generation if it is higher: memory is cleared, except, if `keeps`, the tab's own recordings. Returns
   * whether these have to be saved again.
   */
  learn(generation: number, keeps = false): boolean {
    if (this.isStopped || generation <= this.generation) return false;
    this.generation = generation;
    this.rows.clear();
    this.stash?.reset();
    this.engine?.call((guard) => guard.reset(keeps));
    this.listeners.onReset(keeps);
    this.listeners.onRead();
    return keeps;
  }

  // The table.

  /** Merges a row into the table. Returns its number of recordings, or `DAMAGED`. */
  merge(row: string, source: "Row" | "Found" | "Stash"): number {
    const count = this.engine?.merge(row, source);
    if (count === DAMAGED)
      this.listeners.report(new SeenGuardError("storage", "a stored row is damaged and is left out"));
    return count ?? 0;
  }

  // The store.

  newKey(): string {
    return this.keyMaker.make(this.name, this.generation, "r", this.clock.wallMs());
  }

  /** The result of a call of the store. Rejects after a timeout, which runs while the page is visible. */
  call<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      const cancel = this.timers.after(CALL_TIMEOUT_MS, () => reject(new Error("it does not respond")));
      work.then(cancel, cancel);
    });
  }

  /** Resolves when the store is open; undefined: it is. */
  opening(): Promise<unknown> | undefined {
    const opening = this.store.opening();
    return opening && this.call(opening);
  }

  /** Writes if this generation is current. Resolves to whether it still is afterwards. */
  async write(generation: number, change: Change): Promise<boolean> {
    const opening = this.opening();
    if (opening) await opening;
    this.readSignal();
    if (!this.isCurrent(generation)) return false;
    await this.call(this.store.write(change));
    return this.isCurrent(generation);
  }

  /** Runs loads and compactions one after the other; the first begins during the call. */
  queue(work: () => Promise<void>): Promise<void> {
    return (this.lastQueued = this.lastQueued?.then(work) ?? work());
  }

  /** Retries of one operation, whose failures are reported once until it succeeds. */
  retry(run: () => void): Retry {
    const retry = new Retry(this.timers, run, (cause) => this.failed(retry, cause));
    this.retries.push(retry);
    return retry;
  }

  private failed(operation: Retry, cause: unknown): void {
    if (this.isStopped) return;
    const isFull = isQuotaError(cause);
    // Browsers end connections of pages in the background.
    if (!isFull) this.store.reconnect();
    const isAnyReported = this.retries.some(({ isReported }) => isReported);
    if (operation.isReported || (isAnyReported && !isFull)) return;
    operation.isReported = true;
    const message = isFull
      ? "the storage is full: what does not fit stays in memory and is tried again"
      : `the storage failed and is tried again: ${describe(cause)}`;
    this.listeners.report(new SeenGuardError("storage", message, cause));
  }
}

/** JavaScript engines name this error differently. */
export const isQuotaError = (cause: unknown): boolean => /quota/i.test(errorNameOf(cause));
