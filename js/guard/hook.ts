/**
 * What a guard tells its tools, such as the panel of `seenguard/devtools`, and the hooks: no API, so it is under
 * registered symbols, where bundles of the package meet. Without a tool nothing is counted.
 */
import type { Explanation } from "../types/seenguard.js";

export const HOOK = Symbol.for("seenguard.devtools");

export const CHANGES = Symbol.for("seenguard.changes");

/** A guard to the hooks of the frameworks. */
export interface ChangingGuard {
  /** Calls back when something is unseen or forgotten, here, in another tab or by the server; and once it is closed. */
  [CHANGES](onChange: (isClosed: boolean) => void): void;
}

/** A guard to a tool. What the tool does in answer it is not told of. */
export interface HookedGuard {
  /** Of whatever the guard's holders and feeds do. Returns stop. */
  [HOOK](tool: Tool): () => void;
}

export interface Tool {
  decided(decision: Decision): void;
  applied(snapshot: AppliedSnapshot): void;
}

/** What one call decided. A feed decides an item once: what it has decided before is not in it. */
export interface Decision {
  /** How many items with a usable id it decided. */
  readonly items: number;
  readonly stopped: readonly StoppedItem[];
}

/** `id` is the first of the item's `ids` that was seen, and `why` the reason then; of a duplicate its own, unseen. */
export interface StoppedItem {
  readonly ids: readonly string[];
  readonly id: string;
  readonly why: Explanation;
}

export interface AppliedSnapshot {
  /** The texts that came. */
  readonly shards: readonly string[];
  /** Of the impressions that it covers. */
  readonly lagsMs: readonly number[];
}
