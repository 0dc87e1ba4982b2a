/**
 * The lifecycle of a namespace's engine: it is loaded, retried after a failure, and replaced once after a trap. While
 * there is none, recordings are queued.
 */
import { EngineGuard, type Recording } from "../engine/engine-guard.js";
import type { Engine } from "../engine/engine.js";
import type { Engines } from "../engine/load.js";
import type { ErrorListener, SeenGuardError } from "../errors.js";
import { listen, nextTask, retryDelayMs, type Clock } from "../platform/host.js";
import type { Store } from "../storage/port.js";
import type { ItemId } from "../types/seenguard.js";
import type { OpenOptions } from "./options.js";

/** The longest delay before loading the engine is tried again. */
const LAST_RETRY_MS = 60_000;
/** The most ids in the queue. */
const MAX_QUEUED = 1_000;

/** The part of the namespace that is used here. */
interface Owner {
  readonly options: OpenOptions;
  readonly engines: Engines;
  readonly clock: Clock;
  /** Undefined: nothing is stored. */
  readonly store: Store | undefined;
  /** Starts loading the stored data. */
  openStorage(): void;
  /** Called when the engine is loaded. */
  attach(guard: EngineGuard): void;
  /** Called when queued ids were recorded. */
  recorded(): void;
  /** Resolves when the engine has the stored data, or after a timeout. */
  whenLoaded(): Promise<void>;
  /** Called when there is no engine. */
  stopStorage(): void;
  readonly report: ErrorListener;
}

export class EngineLife {
  /** The guard in the engine. */
  guard: EngineGuard | undefined;
  /** Why there is none. */
  failure: SeenGuardError | undefined;
  /** Whether there is an engine, or loading one is in progress or will be retried. */
  isOpen = false;
  private readonly owner: Owner;
  private starting: Promise<void> | undefined;
  private failures = 0;
  private cancelRetry = (): void => {};
  private queue: { readonly id: ItemId; readonly recording: Recording; readonly atMs: number }[] = [];

  constructor(owner: Owner) {
    this.owner = owner;
  }

  /**
   * Loads the engine, if there is none, and the stored data. Rejects only for wrong options; any other failure is in
   * `failure` and is retried with these options.
   */
  start(options: OpenOptions): Promise<void> {
    if (this.guard && !this.starting) return Promise.resolve();
    this.isOpen = true;
    return (this.starting ??= this.load(options).finally(() => (this.starting = undefined)));
  }

  private async load(options: OpenOptions): Promise<void> {
    const { owner } = this;
    this.cancelRetry();
    try {
      // The engine and the stored data load at the same time, unless the engine has failed before.
      if (!this.failure) await this.openStorage();
      const engine = await owner.engines.load(options);
      if (this.isOpen) this.begin(engine);
    } catch (cause) {
      const error = cause as SeenGuardError;
      if (error.code === "bad-option") throw error;
      this.failure = error;
      this.retryLater(options);
    } finally {
      if (!this.guard) owner.stopStorage();
    }
    const { guard, queue } = this;
    if (!guard) return;
    owner.attach(guard);
    if (queue.length > 0) {
      for (const { id, recording, atMs } of queue.splice(0)) guard.record([id], recording, atMs);
      owner.recorded();
    }
    await owner.whenLoaded();
  }

  /** Starts loading the stored data. */
  private async openStorage(): Promise<void> {
    const { owner } = this;
    const opening = owner.store?.opening();
    // Browsers begin to open a database after the current task, so the rest runs in later tasks.
    if (opening) await nextTask();
    if (this.isOpen) owner.openStorage();
    if (opening) await nextTask();
  }

  private begin(engine: Engine): void {
    const { options, store, clock } = this.owner;
    const guard = new EngineGuard(engine, options, store !== undefined, clock, this.onTrap);
    if (guard.isAlive) this.guard = guard;
  }

  /** Schedules another attempt if the app provides a source of the engine, which may be reachable later. */
  private retryLater(options: OpenOptions): void {
    if (!this.isOpen || !(options.fallback || options.wasm)) return;
    const { clock, report } = this.owner;
    const retry = () => void this.start(options).catch(report);
    const cancel = clock.after(retryDelayMs(this.failures++, LAST_RETRY_MS), retry);
    const stop = listen(["online"], retry);
    this.cancelRetry = () => [cancel, stop].forEach((each) => each());
  }

  /** Replaces an engine that has trapped, once in a document. The new one begins with the stored data. */
  private readonly onTrap: ErrorListener = (error) => {
    const { owner } = this;
    owner.stopStorage();
    this.guard = undefined;
    owner.report(error);
    void Promise.resolve(this.starting).then(() => (this.isOpen ? this.start(owner.options) : undefined));
  };

  /** Queues ids, to be recorded with the time of this call when there is an engine. The latest stay in the queue. */
  recordLater(ids: readonly ItemId[], recording: Recording): void {
    if (!this.isOpen) return;
    const atMs = this.owner.clock.wallMs();
    this.queue = [...this.queue, ...ids.map((id) => ({ id, recording, atMs }))].slice(-MAX_QUEUED);
  }

  /** Empties the queue. */
  forget(): void {
    this.queue = [];
  }

  /** Frees the engine's memory. */
  end(): void {
    this.isOpen = false;
    this.cancelRetry();
    this.owner.stopStorage();
    this.guard?.free();
    this.guard = undefined;
  }
}
