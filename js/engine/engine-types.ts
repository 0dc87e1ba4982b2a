/** Arguments and results of the engine's guard. */
import type { FormatArguments } from "../input/format.js";
import type { Impression } from "../types/seenguard.js";

/** A snapshot in arguments of the engine: NaN stands for absent fields. */
export interface SnapshotArguments {
  readonly format: FormatArguments;
  readonly shards: readonly string[];
  readonly version: number;
  readonly nowMs: number;
  readonly unseen: readonly Impression[];
  readonly forgetBefore: number;
}

export type ApplyOutcome =
  | { readonly reason: "older-version" | "missing-shard" }
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

/** A split list. */
export interface Split {
  readonly fresh: Indices;
  /** Those seen longest ago first. */
  readonly seen: Indices;
}
