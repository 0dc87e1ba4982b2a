/** The kinds of storage: IndexedDB with localStorage beside it, localStorage alone, or a custom store of the app. */
import type { Place } from "../generated/client/seenguard.js";
import { copyList } from "../input/ids.js";
import type { GuardOptions, SeenStorage } from "../types/seenguard.js";

/** The option `storage`. */
export type StorageOption = NonNullable<GuardOptions["storage"]>;
/** A storage that can hold data. */
export type StorageChoice = Exclude<StorageOption, "none">;

/**
 * A transaction. Each result is passed to a callback while the transaction is active. Any error, also one thrown by a
 * callback, ends it.
 */
export interface Transaction {
  keys(prefix: string, take: (keys: string[]) => void): void;
  get(key: string, take: (text: string | undefined) => void): void;
  put(key: string, text: string, done: () => void): void;
  /** Deletes these keys, and all keys with the prefix that sort below `below`. */
  delete(keys: readonly string[], prefix: string, below: string, done: () => void): void;
  commit(): void;
  abort(): void;
}

/** Called once when a transaction has completed, or with the cause of its failure. */
export type OnEnd = (cause?: unknown) => void;

/** The browser's storages, the preferred one first. */
export const BROWSERS = ["indexeddb", "local"] as const;

const GLOBALS = { indexeddb: "indexedDB", local: "localStorage" } as const;

/** The storage that an option names; undefined: nothing is kept. */
export function choiceOf(option: StorageOption | undefined): StorageChoice | undefined {
  if (option !== undefined) return option === "none" ? undefined : option;
  const found = BROWSERS.find((choice) => GLOBALS[choice] in globalThis);
  // A page without either tries the first one, which reports the failure. Server rendering has neither.
  return found ?? (typeof document === "undefined" ? undefined : BROWSERS[0]);
}

/** The engine's name of the storage. */
export function placeOf(choice: StorageChoice | undefined): keyof typeof Place | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice !== "string") return "Custom";
  return choice === "local" ? "Local" : "IndexedDb";
}

/** localStorage as a custom store. */
export const local: SeenStorage = {
  get: (key) => localStorage.getItem(key),
  set: (key, value) => localStorage.setItem(key, value),
  remove: (key) => localStorage.removeItem(key),
  keys: () => Object.keys(localStorage),
};

/**
 * The interface of a transaction over a store without transactions. Over localStorage each call completes
 * synchronously.
 */
export class StoreTransaction implements Transaction {
  private readonly store: SeenStorage;
  private onEnd: OnEnd | undefined;

  constructor(store: SeenStorage, onEnd: OnEnd) {
    this.store = store;
    this.onEnd = onEnd;
  }

  keys(prefix: string, take: (keys: string[]) => void): void {
    this.run<unknown>(
      () => this.store.keys(),
      (keys) => {
        if (!Array.isArray(keys)) throw new TypeError("keys() of the storage did not return a list");
        take(
          copyList(keys as unknown[]).filter((key): key is string => typeof key === "string" && key.startsWith(prefix)),
        );
      },
    );
  }

  get(key: string, take: (text: string | undefined) => void): void {
    this.run(
      () => this.store.get(key),
      (value) => take(textOf(value)),
    );
  }

  put(key: string, text: string, done: () => void): void {
    this.run(() => this.store.set(key, text), done);
  }

  delete(keys: readonly string[], prefix: string, below: string, done: () => void): void {
    const remove = (all: string[]) =>
      forEach(
        () => all.shift(),
        (key, next) => this.run(() => this.store.remove(key), next),
        done,
      );
    if (below === "") remove([...keys]);
    else this.keys(prefix, (found) => remove([...keys, ...found.filter((key) => key < below)]));
  }

  commit(): void {
    this.end();
  }

  abort(): void {
    this.onEnd = undefined;
  }

  private end(cause?: unknown): void {
    const { onEnd } = this;
    this.onEnd = undefined;
    onEnd?.(cause);
  }

  /** The store may throw any value, also undefined. */
  private readonly fail = (cause: unknown): void => this.end(cause ?? new Error("the storage failed"));

  private run<T>(work: () => T | PromiseLike<T>, take: (value: T) => void): void {
    const attempt = (step: () => void) => {
      try {
        if (this.onEnd) step();
      } catch (cause) {
        this.fail(cause);
      }
    };
    attempt(() => {
      const value = work();
      if (!isPromise(value)) take(value);
      else value.then((awaited) => attempt(() => take(awaited)), this.fail);
    });
  }
}

function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | undefined | null)?.then === "function";
}

/** Runs actions in sequence, then `done`. Actions that complete synchronously do not deepen the stack. */
export function forEach(
  next: () => string | undefined,
  one: (key: string, done: () => void) => void,
  end: () => void,
): void {
  for (;;) {
    const key = next();
    if (key === undefined) {
      end();
      return;
    }
    let [isDone, isLater] = [false, false];
    one(key, () => {
      isDone = true;
      if (isLater) forEach(next, one, end);
    });
    isLater = true;
    if (!isDone) return;
  }
}

/** A stored value as text: `undefined` if absent; a value of another type becomes a text that cannot be decoded. */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : "";
}
