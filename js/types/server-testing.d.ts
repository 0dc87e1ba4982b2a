/** `seenguard/server/testing`: the tests that a store over any backend must pass. */
import type { SeenStore, StoreOptions } from "./server.js";

/** Makes an empty store: `name` tells it from those of other tests; `options` are those of `seenStore`. */
export type MakeStore = (name: string, options: StoreOptions) => SeenStore | Promise<SeenStore>;

/** One test. */
export interface Promised {
  /** What is promised, in words. */
  readonly name: string;
  /** Rejects if the store does not keep it. */
  check(): Promise<void>;
}

/** All tests: give each one to your test runner. */
export declare function promises(make: MakeStore): Promised[];
