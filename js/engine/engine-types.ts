/** What goes into the engine's guard, and what comes out of it. */
import type { FormatArguments } from "../input/format.js";
import type { ApplyResult, Impression } from "../types/seenguard.js";

/** A snapshot as the engine takes it: NaN stands for what is absent. */
export interface SnapshotArguments {
  readonly format: FormatArguments;
  readonly shards: readonly string[];
  readonly version: number;
  readonly nowMs: number;
  readonly unseen: readonly Impression[];
  readonly forgetBefore: number;
}

export type ApplyOutcome =
  | { readonly reason: NonNullable<ApplyResult["reason"]> }
  | {
      readonly reason?: undefined;
      readonly covered: number;
      /** Whether the shards stop most fresh items. */
      readonly isSaturated: boolean;
      readonly lags: readonly { readonly id: string; readonly lagMs: number }[];
    };

export interface Batch {
  /** Its number. */
  readonly batch: number;
  readonly impressions: Impression[];
  readonly unseen: Impression[];
}

export type Indices = ArrayLike<number> & Iterable<number>;

/** A list in two. */
export interface Split {
  readonly fresh: Indices;
  /** Those seen longest ago first. */
  readonly seen: Indices;
}
