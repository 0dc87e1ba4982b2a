/** Follows one guard: samples its lag, and keeps what its latest calls stopped. It knows nothing of the page. */
import type { Decision, SeenGuard, StoppedItem } from "../types/seenguard.js";

const MAX_SAMPLES = 300;
const MAX_STOPPED = 50;

/** The lag at one moment. */
export interface LagSample {
  readonly atMs: number;
  /** For how long the oldest pending impression has waited; 0 if none is pending. */
  readonly waitingMs: number;
  /** The lag of the impression that was covered last, if any was since the sample before. */
  readonly coveredMs: number | undefined;
}

export class GuardMonitor {
  readonly guard: SeenGuard;
  /** The latest 300, oldest first. */
  readonly samples: LagSample[] = [];
  /** What the last call decided. */
  lastCall: Decision | undefined;
  /** The latest 50 by their own ids, in the order in which they were first stopped. */
  private readonly stoppedById = new Map<string, StoppedItem>();
  private covered = 0;

  constructor(guard: SeenGuard) {
    this.guard = guard;
    this.covered = guard.stats().lag.count;
  }

  /** Calls `onDecision` after each call that decided items. Returns stop. */
  follow(onDecision: () => void): () => void {
    return this.guard.watch((decision) => {
      this.lastCall = decision;
      // Only these can be in the list afterwards.
      for (const item of decision.stopped.slice(-MAX_STOPPED)) this.stoppedById.set(item.ids[0] ?? "", item);
      for (const oldest of [...this.stoppedById.keys()].slice(0, -MAX_STOPPED)) this.stoppedById.delete(oldest);
      onDecision();
    });
  }

  /** Newest first. */
  get stopped(): StoppedItem[] {
    return [...this.stoppedById.values()].reverse();
  }

  /** Takes all ids of an item back. Returns whether any of them was stopped. */
  takeBack(ids: readonly string[]): boolean {
    this.stoppedById.delete(ids[0] ?? "");
    return this.guard.unsee(ids) > 0;
  }

  sample(): void {
    const { count, lastMs } = this.guard.stats().lag;
    const coveredMs = count > this.covered ? lastMs : undefined;
    this.covered = count;
    this.samples.push({ atMs: Date.now(), waitingMs: this.waitingMs(), coveredMs });
    this.samples.splice(0, this.samples.length - MAX_SAMPLES);
  }

  private waitingMs(): number {
    const [oldest] = this.guard.pending(1);
    const why = oldest === undefined ? undefined : this.guard.explain(oldest);
    return why?.seen && why.by === "pending" ? Math.max(0, Date.now() - why.at.getTime()) : 0;
  }

  /** Whether the guard's holder has closed it. */
  get isClosed(): boolean {
    // One that is closed has no engine, and refuses a snapshot before it looks whether there is one.
    return this.guard.stats().engine === "none" && this.guard.apply(undefined).reason === "closed";
  }
}
