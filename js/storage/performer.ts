/**
 * Performs the I/O steps that the engine's storage protocol requests, and reports events to it: another tab has
 * written, the page hides, a timer has fired. Only the engine decides when and what to read, write and delete.
 */
import { attempt, isHidden, listen, type Clock } from "../platform/host.js";
import type { NamespaceEngine } from "../engine/namespace-engine.js";
import { describe, failure, errorNameOf, SeenGuardError, type ErrorListener } from "../errors.js";
import type * as generated from "../generated/client/seenguard.js";
import type { GuardStats } from "../types/seenguard.js";
import { removeIdle } from "./cleaning.js";
import { connect, disconnect, IndexedDbTransaction, useConnection } from "./indexeddb.js";
import { hasLocal, localKeys, prefixOf, readLocal, readSignal, removeLocal, signalKey, signalOf } from "./keys.js";
import { writeLocal, writeSignal } from "./keys.js";
import { forEach, local, StoreTransaction, type StorageChoice, type Transaction } from "./places.js";

const NO_ANSWER = new Error("the storage does not answer");

interface Waiter {
  readonly isOver: (status: number) => boolean;
  readonly resolve: () => void;
}

/** The snapshot in use in its stored form. */
export interface StoredSnapshot {
  /** Undefined: there is none to store. */
  text(): string | undefined;
  restore(text: string): void;
}

export class StoragePerformer {
  private readonly prefix: string;
  private readonly timers = new Map<generated.Timer, () => void>();
  private transaction: Transaction | undefined;
  /** The storage of the latest transaction. */
  private kind: "indexeddb" | "local" | "custom";
  private waiters: Waiter[] = [];
  private stopListening = (): void => {};
  private readonly release: () => void;
  private isStopped = false;
  private willRun = false;
  private isRunning = false;
  /** The cause of the latest failed transaction, and the states of trouble that were reported. */
  private cause: unknown = NO_ANSWER;
  private told = 0;

  constructor(
    private readonly engine: NamespaceEngine,
    private readonly choice: StorageChoice,
    private readonly name: string,
    private readonly snapshot: StoredSnapshot,
    private readonly clock: Clock,
    private readonly report: ErrorListener,
    private readonly onRead: () => void,
  ) {
    this.prefix = prefixOf(name);
    this.kind = typeof choice === "string" ? choice : "custom";
    this.release = choice === "indexeddb" ? useConnection() : () => {};
  }

  /** Starts. Resolves when the stored data has been read. */
  begin(): Promise<void> {
    this.hear();
    if (this.choice === "indexeddb") for (const key of localKeys(this.prefix)) this.mergeLocal(key, readLocal(key));
    this.listen();
    if (isHidden()) this.happens("Hide");
    this.run();
    return this.until("Looked");
  }

  private listen(): void {
    const onPageEvent = ({ type }: Event) => {
      this.happens(type === "pagehide" || isHidden() ? "Hide" : "Show");
    };
    const stop = listen(["pagehide", "pageshow", "visibilitychange", "resume"], onPageEvent);
    const onStorageEvent = (event: Event) => {
      const { key, newValue, oldValue } = event as StorageEvent;
      if (key === signalKey(this.name)) {
        const numbers = [signalOf(newValue), signalOf(oldValue)].filter((number) => number !== undefined);
        if (numbers.length > 0) this.engine.call((guard) => guard.hear(Math.max(...numbers)));
      } else if (key?.startsWith(this.prefix)) {
        this.mergeLocal(key, newValue ?? undefined);
        this.onRead();
        return;
      } else if (key !== null) return;
      this.happens("Signalled");
    };
    const stopStorage = this.kind === "custom" ? () => {} : listen(["storage"], onStorageEvent);
    this.stopListening = () => [stop, stopStorage].forEach((each) => each());
  }

  happens(event: keyof typeof generated.Event): void {
    this.engine.call((guard) => guard.happens(this.engine.classes.Event[event]));
    this.run();
  }

  private mergeLocal(key: string, text: string | undefined): void {
    if (text !== undefined) this.engine.call((guard) => guard.mergeLocal(key, text));
  }

  /** The kind of storage in use, or its failure. */
  get storage(): GuardStats["storage"] {
    const { Full, Unavailable } = this.engine.classes.Status;
    const status = this.settle();
    if (status & Full) return "full";
    return status & Unavailable ? "unavailable" : this.kind;
  }

  /** Reads the number of the latest clear, which another tab may have written. */
  hear(): void {
    const number = readSignal(this.name);
    this.engine.call((guard) => {
      if (number !== undefined || (guard.number > 0 && hasLocal())) guard.hear(number);
    });
  }

  /** Schedules work, such as storing impressions, for the end of the current task. */
  changed(): void {
    if (this.willRun) return;
    this.willRun = true;
    queueMicrotask(() => {
      this.willRun = false;
      this.run();
    });
  }

  /** Resolves when everything recorded so far is stored, or storing it has failed. */
  flush(): Promise<void> {
    this.happens("Flush");
    return this.until("Settled");
  }

  /** Reads what other documents have written, where there is no cross-tab signal. Resolves when that is done. */
  look(): Promise<void> {
    this.happens("Look");
    return this.until("Looking", false);
  }

  /** Applies a clear by this document. `keeps`: impressions recorded since stay. */
  clear(number: number, keeps: boolean): void {
    this.engine.call((guard) => guard.clear(number, keeps));
    this.run();
  }

  /** Stops listening and performing. A write in progress completes. */
  stop(): void {
    this.isStopped = true;
    for (const cancel of this.timers.values()) cancel();
    this.stopListening();
    for (const { resolve } of this.waiters.splice(0)) resolve();
    this.release();
  }

  private until(flag: "Looked" | "Settled" | "Looking", isSet = true): Promise<void> {
    const bit = this.engine.classes.Status[flag];
    const isOver = (status: number) => ((status & bit) !== 0) === isSet;
    if (this.isStopped || isOver(this.settle())) return Promise.resolve();
    return new Promise((resolve) => this.waiters.push({ isOver, resolve }));
  }

  /**
   * Performs steps until none is left. localStorage completes synchronously and calls this again: a loop, no recursion.
   */
  private run(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    const { Step } = this.engine.classes;
    try {
      while (!this.isStopped) {
        this.hear();
        const step = this.engine.call((guard, wallMs) => guard.next(wallMs)) ?? Step.Wait;
        if (step === Step.Wait) break;
        this.perform(step);
      }
    } finally {
      this.isRunning = false;
    }
    this.settle();
    this.onRead();
  }

  private perform(step: generated.Step): void {
    const { Step, Timer } = this.engine.classes;
    switch (step) {
      case Step.Timer:
        this.startTimer(Timer.Limit);
        break;
      case Step.Abort:
        this.timers.get(Timer.Limit)?.();
        this.transaction?.abort();
        break;
      case Step.Signal:
        writeSignal(this.name, this.engine.call((guard) => guard.number) ?? 0);
        break;
      case Step.LocalPut:
        this.engine.call((guard, wallMs) => {
          const key = guard.localRow(wallMs);
          if (key !== undefined) guard.localWritten(writeLocal(key, guard.text()));
        });
        break;
      case Step.LocalRemove:
        removeLocal([this.engine.call((guard) => guard.localKey) ?? ""]);
        break;
      case Step.Idle:
        removeIdle(this.engine, this.name, this.clock);
        break;
      default:
        this.transact(step);
    }
  }

  private startTimer(limit: generated.Timer): void {
    const [timer = limit, ms = 0] = this.engine.call((guard) => [guard.timer, guard.timerMs] as const) ?? [];
    this.timers.get(timer)?.();
    const onFired = () => {
      this.timers.delete(timer);
      if (timer === limit) {
        this.cause = NO_ANSWER;
        disconnect();
      }
      this.engine.call((guard) => guard.fired(timer));
      this.run();
    };
    this.timers.set(timer, this.clock.after(ms, onFired));
  }

  private transact(step: generated.Step): void {
    const { Step, Place, Timer } = this.engine.classes;
    const id = this.engine.call((guard) => guard.transaction) ?? 0;
    const onEnd = (cause?: unknown) => {
      const hasFailed = cause !== undefined;
      // After a write that exceeded the quota, Firefox's next transaction accepts only deletions.
      const isFull =
        hasFailed && (isQuotaError(cause) || (isQuotaError(this.cause) && errorNameOf(cause) === "InvalidStateError"));
      if (hasFailed) this.cause = cause;
      if (hasFailed && !isFull && this.kind === "indexeddb") disconnect();
      if (this.engine.call((guard) => guard.transaction) === id) this.timers.get(Timer.Limit)?.();
      this.engine.call((guard, wallMs) => (hasFailed ? guard.failed(id, isFull) : guard.completed(id, wallMs)));
      this.run();
    };
    const begin = (place: generated.Place, open: () => Transaction): void => {
      if (this.isStopped || this.engine.call((guard) => guard.begin(id, place)) !== true) return;
      const transaction = attempt(open);
      if (!transaction) {
        onEnd(new Error("the connection to IndexedDB is closed"));
        return;
      }
      this.transaction = transaction;
      this.carryOut(step, transaction, place === Place.IndexedDb);
    };
    const { choice } = this;
    const inLocal = () => begin(Place.Local, () => new StoreTransaction(local, onEnd));
    if (typeof choice !== "string") begin(Place.Custom, () => new StoreTransaction(choice, onEnd));
    else if (choice === "local") inLocal();
    else
      connect((database, cause) => {
        const wasAway = this.kind === "local";
        this.kind = database ? "indexeddb" : "local";
        if (database) {
          const mode = step === Step.Look ? "readonly" : "readwrite";
          begin(Place.IndexedDb, () => new IndexedDbTransaction(database, mode, onEnd));
          return;
        }
        if (!wasAway) this.report(failure("storage", 'the storage "indexeddb" is not available', cause));
        inLocal();
      });
  }

  private carryOut(step: generated.Step, transaction: Transaction, hasBeside: boolean): void {
    const { Step } = this.engine.classes;
    const write = () => {
      const next = () => this.engine.call((guard, wallMs) => guard.nextWrite(wallMs));
      const put = (key: string, done: () => void) =>
        transaction.put(key, this.engine.call((guard) => guard.text()) ?? "", done);
      forEach(next, put, () => {
        const [below = "", ...keys] = (this.engine.call((guard) => guard.deletions()) ?? "").split("\n");
        transaction.delete(keys, this.prefix, below, () => transaction.commit());
      });
    };
    if (step === Step.Keep) {
      const { key = "", drops = true } =
        this.engine.call((guard) => ({ key: guard.snapshotKey, drops: guard.dropsSnapshot })) ?? {};
      const text = drops ? undefined : this.snapshot.text();
      const commit = () => transaction.commit();
      if (text === undefined) transaction.delete([key], this.prefix, "", commit);
      else transaction.put(key, text, commit);
    } else if (step === Step.Put) write();
    else
      transaction.keys(this.prefix, (keys) => {
        const beside = hasBeside ? localKeys(this.prefix) : [];
        this.engine.call((guard) => guard.list(keys.join("\n"), beside.join("\n")));
        const next = () => this.engine.call((guard) => guard.nextRead());
        const read = (key: string, done: () => void) => {
          const take = (text: string | undefined) => {
            if (key.endsWith("/h") && text !== undefined) this.snapshot.restore(text);
            else this.engine.call((guard) => guard.read(text));
            done();
          };
          if (hasBeside && this.engine.call((guard) => guard.isLocal) === true) take(readLocal(key));
          else transaction.get(key, take);
        };
        forEach(next, read, write);
      });
  }

  /** Reports new failures to the app, and resolves promises whose condition holds. Returns the status. */
  private settle(): number {
    const { Status } = this.engine.classes;
    // Without an engine all of them resolve.
    const status = this.engine.call((guard) => guard.status());
    this.waiters = this.waiters.filter(({ isOver, resolve }) => {
      const goesOn = status !== undefined && !isOver(status);
      if (!goesOn) resolve();
      return goesOn;
    });
    if (status === undefined) return 0;
    // The storage is full also if new rows were written because the oldest were dropped.
    const isFull = (status & (Status.Full | Status.DroppedRows)) !== 0;
    const trouble = (isFull ? Status.Full : 0) | (status & Status.Unavailable);
    const isNew = (trouble & ~this.told) !== 0;
    // A full storage is reported once on a visit; a failing one again if it has worked meanwhile.
    this.told = (this.told & Status.Full) | trouble;
    if (isNew) this.report(this.trouble(isFull));
    if (status & Status.Damaged) this.report(new SeenGuardError("storage", "a stored row is damaged and is left out"));
    return status;
  }

  private trouble(isFull: boolean): SeenGuardError {
    const { cause } = this;
    if (isFull) {
      const message = "the storage is full: what does not fit is kept in memory and tried again";
      return new SeenGuardError("storage", message, cause);
    }
    const what = cause === NO_ANSWER ? "does not answer" : `failed: ${describe(cause)}`;
    return new SeenGuardError("storage", `the storage ${what}`, cause);
  }
}

/** JavaScript engines name this error differently. */
const isQuotaError = (cause: unknown): boolean => /quota/i.test(errorNameOf(cause));
