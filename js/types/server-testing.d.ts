/** `seenguard/server/testing`: the tests that a store over any backend must pass. */
import type { SeenStore, StoreOptions } from "./server.js";

/** Makes an empty store. `name`: that of the test, for a key prefix of its own. `options`: those of `seenStore`. */
export type MakeStore = (name: string, options: StoreOptions) => SeenStore | Promise<SeenStore>;

/** One test of a store. */
export interface Promised {
  /** The promise, in words. */
  readonly name: string;
  /** Rejects if the store breaks the promise. */
  check(): Promise<void>;
}

/** All tests: give each one to your test runner. */
export declare function promises(make: MakeStore): Promised[];
