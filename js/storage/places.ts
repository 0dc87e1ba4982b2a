/** Where namespaces are kept: in IndexedDB with localStorage beside it, in localStorage, or in a store of the app. */
import type { Place } from "../generated/client/seenguard.js";
import { copyList } from "../input/ids.js";
import type { GuardOptions, SeenStorage } from "../types/seenguard.js";

/** The option `storage`. */
export type StorageOption = NonNullable<GuardOptions["storage"]>;
/** One in which something can be kept. */
export type StorageChoice = Exclude<StorageOption, "none">;

/**
 * A transaction: what is asked hands its answer on while the transaction lives. Whatever goes wrong, or is thrown by
 * what it hands an answer to, ends it.
 */
export interface Transaction {
  keys(prefix: string, take: (keys: string[]) => void): void;
  get(key: string, take: (text: string | undefined) => void): void;
  put(key: string, text: string, done: () => void): void;
  /** Deletes these keys, and those from `prefix` on that are lower than `below`. */
  delete(keys: readonly string[], prefix: string, below: string, done: () => void): void;
  commit(): void;
  abort(): void;
}

/** Told once when a transaction is complete, or why it has failed. */
export type OnEnd = (cause?: unknown) => void;

/** Those of the browser, the better one first. */
export const BROWSERS = ["indexeddb", "local"] as const;

const GLOBALS = { indexeddb: "indexedDB", local: "localStorage" } as const;

/** The storage that an option names; undefined: nothing is kept. */
export function choiceOf(option: StorageOption | undefined): StorageChoice | undefined {
  if (option !== undefined) return option === "none" ? undefined : option;
  const found = BROWSERS.find((choice) => GLOBALS[choice] in globalThis);
  // A page that has neither tries the first, and reports it; where a server renders there is neither.
  return found ?? (typeof document === "undefined" ? undefined : BROWSERS[0]);
}

/** The same as the engine names it. */
export function placeOf(choice: StorageChoice | undefined): keyof typeof Place | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice !== "string") return "Custom";
  return choice === "local" ? "Local" : "IndexedDb";
}

/** localStorage as if it were a store of the app. */
export const local: SeenStorage = {
  get: (key) => localStorage.getItem(key),
  set: (key, value) => localStorage.setItem(key, value),
  remove: (key) => localStorage.removeItem(key),
  keys: () => Object.keys(localStorage),
};

/** What has the form of a transaction over a store that has none. What localStorage does is done when a call returns. */
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

  /** Anything may be thrown, nothing at all included. */
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

/** Does one thing after the other, each when the one before is done, and then ends. What is done at once nests nothing. */
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

/** A stored value as text: what is absent is `undefined`, and what is no text is a text that cannot be read. */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : "";
}
