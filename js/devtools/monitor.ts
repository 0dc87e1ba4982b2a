/** Monitors one guard: counts its decisions and snapshots, and samples its lag. It is independent of the page. */
import type { AppliedSnapshot, Decision, HOOK, HookedGuard, StoppedItem } from "../guard/tools.js";
import type { SeenGuard } from "../types/seenguard.js";
import { kindOf, type Kind } from "./format.js";

/** A registered symbol: the guard may be of another bundle, which shares no file with this one. */
const HOOK_OF_GUARD: typeof HOOK = Symbol.for("seenguard.devtools") as typeof HOOK;
const MAX_SAMPLES = 300;
const MAX_STOPPED = 50;
const MAX_LAGS = 1000;

/** The lag at one moment. */
export interface LagSample {
  readonly atMs: number;
  /** The age of the oldest pending impression; 0 if none is pending. */
  readonly waitingMs: number;
  /** The lag of the impression that was covered last, if any was since the sample before. */
  readonly coveredMs: number | undefined;
}

export class Monitor {
  readonly guard: SeenGuard;
  /** The latest 300, oldest first. */
  readonly samples: LagSample[] = [];
  /** The decision of the last call. */
  lastCall: Decision | undefined;
  passed = 0;
  readonly stoppedBy: Record<Kind, number> = { pending: 0, device: 0, server: 0, duplicate: 0 };
  /** Received in snapshots: characters of shards, shards, and how many of these were references. */
  readonly received = { characters: 0, shards: 0, references: 0 };
  /** The number of impressions whose lag is known. */
  covered = 0;
  /** The latest 1,000 lags. */
  readonly lagsMs: number[] = [];
  /** The latest 50 by their main ids, in the order in which they were first stopped. */
  private readonly stoppedById = new Map<string, StoppedItem>();
  private sampled = 0;

  constructor(guard: SeenGuard) {
    this.guard = guard;
  }

  /** Calls `onChange` after each decision of items and each applied snapshot. Returns stop. */
  follow(onChange: () => void): () => void {
    return (this.guard as object as HookedGuard)[HOOK_OF_GUARD]({
      decided: (decision) => {
        this.countDecision(decision);
        onChange();
      },
      applied: (snapshot) => {
        this.countSnapshot(snapshot);
        onChange();
      },
    });
  }

  private countDecision(decision: Decision): void {
    const { items, stopped } = decision;
    this.lastCall = decision;
    this.passed += items - stopped.length;
    for (const { why } of stopped) this.stoppedBy[kindOf(why)]++;
    // Earlier ones would be evicted at once.
    for (const item of stopped.slice(-MAX_STOPPED)) this.stoppedById.set(item.ids[0] ?? "", item);
    for (const oldest of [...this.stoppedById.keys()].slice(0, -MAX_STOPPED)) this.stoppedById.delete(oldest);
  }

  private countSnapshot({ shards, lagsMs }: AppliedSnapshot): void {
    const { received } = this;
    received.shards += shards.length;
    for (const { length } of shards) received.characters += length;
    received.references += shards.filter((shard) => shard.startsWith("~")).length;
    this.covered += lagsMs.length;
    this.lagsMs.push(...lagsMs.slice(-MAX_LAGS));
    this.lagsMs.splice(0, this.lagsMs.length - MAX_LAGS);
  }

  /** Newest first. */
  get stopped(): StoppedItem[] {
    return [...this.stoppedById.values()].reverse();
  }

  /** Makes all ids of an item unseen. Returns whether any of them was stopped. */
  unsee(ids: readonly string[]): boolean {
    this.stoppedById.delete(ids[0] ?? "");
    return this.guard.unsee(ids) > 0;
  }

  sample(): void {
    const coveredMs = this.covered > this.sampled ? this.lagsMs[this.lagsMs.length - 1] : undefined;
    this.sampled = this.covered;
    this.samples.push({ atMs: Date.now(), waitingMs: this.waitingMs(), coveredMs });
    this.samples.splice(0, this.samples.length - MAX_SAMPLES);
  }

  private waitingMs(): number {
    const [oldest] = this.isClosed ? [] : this.guard.pending(1);
    const why = oldest === undefined ? undefined : this.guard.explain(oldest);
    return why?.seen && why.by === "pending" && why.at ? Math.max(0, Date.now() - why.at.getTime()) : 0;
  }

  /** Whether the guard's holder has closed it. */
  get isClosed(): boolean {
    // A closed guard has no engine, and refuses any snapshot, also an absent one, as "closed".
    if (this.guard.stats().engine !== "none") return false;
    const result = this.guard.apply(undefined);
    return !result.applied && result.reason === "closed";
  }
}
