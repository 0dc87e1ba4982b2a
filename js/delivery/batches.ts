/**
 * Limits the entries of the next batch. A refused batch is halved until the refused entry is alone; that entry is then
 * left out of all batches of this visit.
 */
import type { Batch as EngineBatch } from "../engine/engine-guard.js";

/** A batch of entries that are in no other one until it ends. */
export interface Batch extends EngineBatch {
  /** Whether the namespace was not cleared since it began. */
  readonly isCurrent: () => boolean;
  /** Whether the engine still has its entries: there was neither a clear nor a trap since. */
  readonly exists: () => boolean;
  /**
   * "Left": it was sent as the page hid, and counts as delivered unless it ends otherwise. Has no effect after a trap.
   */
  readonly end: (end: "Failed" | "Delivered" | "Left") => void;
}

const MAX_ENTRIES = 100;
/** After this many entries in a row that were refused alone, the endpoint may be wrong. */
const MAX_REFUSED = 8;

export const countOf = ({ impressions, unseen }: Batch): number => impressions.length + unseen.length;

export class BatchSize {
  /** The most entries of the next batch. */
  most = MAX_ENTRIES;
  /** What the server accepts: fewer after a 413. */
  private limit = MAX_ENTRIES;
  private hasAccepted = false;
  /** Entries refused alone since the server accepted something. */
  private refusedInRow = 0;
  /** The batches of entries refused alone. */
  private refusedAlone: Batch[] = [];

  /** The number of entries that are left out. */
  get leftOut(): number {
    return this.refusedAlone.filter(({ exists }) => exists()).length;
  }

  /** Whether the server has refused the latest entry. */
  get isRefusing(): boolean {
    return this.refusedInRow > 0;
  }

  accepted(): void {
    this.hasAccepted = true;
    if (this.isRefusing) [this.refusedInRow, this.most] = [0, this.limit];
  }

  /** Nothing is left to deliver: what was refused in a larger batch has been accepted since. */
  finished(): void {
    if (!this.isRefusing) this.most = this.limit;
  }

  /** Ends a refused batch, or leaves its only entry out. Returns whether to continue at once. */
  refused(batch: Batch, isTooLarge: boolean): boolean {
    const count = countOf(batch);
    if (count > 1) {
      this.most = Math.ceil(count / 2);
      if (isTooLarge) this.limit = this.most;
      batch.end("Failed");
      return true;
    }
    // It was this entry that was too large, not the batch.
    if (isTooLarge) this.limit = MAX_ENTRIES;
    this.refusedAlone.push(batch);
    this.most = 1;
    this.refusedInRow++;
    if (this.refusedInRow % MAX_REFUSED > 0) return true;
    if (!this.hasAccepted) for (const each of this.refusedAlone.splice(0)) each.end("Failed");
    return false;
  }
}
