/** What goes into the engine's guard, and what comes out of it. */
import type { FormatArguments } from "../format.js";
import type { ApplyReport, GuardStats, Impression } from "../types/seenguard.js";

/** A snapshot as the engine takes it: NaN stands for what is absent. */
export interface SnapshotArguments {
  readonly format: FormatArguments;
  readonly shards: readonly string[];
  readonly version: number;
  readonly nowMs: number;
  readonly unseen: readonly Impression[];
  readonly forgetBefore: number;
}

export interface ApplyOutcome {
  /** Absent: it was taken. */
  readonly reason?: NonNullable<ApplyReport["reason"]>;
  readonly shards: number;
  readonly reused: number;
  readonly expired: number;
  readonly covered: number;
  /** Whether the shards stop most fresh items. */
  readonly saturated: boolean;
  readonly lags: readonly { readonly id: string; readonly lagMs: number }[];
}

export type EngineExplanation =
  | { readonly by: "pending" | "memory"; readonly at: number }
  | { readonly by: "server"; readonly shard: number; readonly epoch?: number };

export interface RecordOutcome {
  /** How many were not known on this device. */
  unknown: number;
  /** Pending impressions that lost their text for want of room. */
  lostText: number;
}

export interface Batch {
  /** 0: nothing is to be delivered. */
  readonly batch: number;
  readonly impressions: Impression[];
  readonly unseen: Impression[];
}

export type FreshIndices = ArrayLike<number> & Iterable<number>;

export interface SplitIndices {
  readonly fresh: FreshIndices;
  readonly seen: FreshIndices;
}

export type EngineStats = Omit<GuardStats, "engine" | "storage">;
