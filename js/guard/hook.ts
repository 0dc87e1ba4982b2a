/**
 * Events for tools, such as the panel of `seenguard/devtools`. They are not public: the method is under a registered
 * symbol, which all bundles of the package share. Without a tool nothing is counted.
 */
import type { Explanation } from "../types/seenguard.js";

export const HOOK = Symbol.for("seenguard.devtools");

/** The guard as a tool sees it. Calls that a tool makes while it handles an event cause no events. */
export interface HookedGuard {
  /** Subscribes to events of all handles and feeds of the namespace. Returns stop. */
  [HOOK](tool: Tool): () => void;
}

export interface Tool {
  decided(decision: Decision): void;
  applied(snapshot: AppliedSnapshot): void;
}

/** The verdicts of one call. A feed decides an item once, so items that it decided earlier are not included. */
export interface Decision {
  /** The number of decided items that have a usable id. */
  readonly items: number;
  readonly stopped: readonly StoppedItem[];
}

/** `id`: the first of the item's `ids` that was seen, `why`: the reason. Of a duplicate: its own id, not seen. */
export interface StoppedItem {
  readonly ids: readonly string[];
  readonly id: string;
  readonly why: Explanation;
}

export interface AppliedSnapshot {
  /** The shards of the snapshot as received. */
  readonly shards: readonly string[];
  /** The lag of each impression that it newly covers. */
  readonly lagsMs: readonly number[];
}
