/** An exact record of what one person has seen, made unseen and deleted: the later of two times counts. */
export interface RecordEntries {
  readonly seen: readonly (readonly [id: string, atMs: number])[];
  readonly unseen: readonly (readonly [id: string, atMs: number])[];
  /** The time of the latest deletion of the history: earlier impressions do not count. */
  readonly forgottenAtMs: number;
}

export class SeenRecord {
  private readonly seen = new Map<string, number>();
  private readonly unseen = new Map<string, number>();
  private forgottenAtMs = 0;

  merge({ seen = [], unseen = [], forgottenAtMs = 0 }: Partial<RecordEntries>): void {
    this.forgottenAtMs = Math.max(this.forgottenAtMs, forgottenAtMs);
    for (const [times, entries] of [
      [this.seen, seen],
      [this.unseen, unseen],
    ] as const)
      for (const [id, atMs] of entries) times.set(id, Math.max(atMs, times.get(id) ?? 0));
  }

  /** When an item with these ids was seen last, if that still counts. */
  seenAt(ids: readonly string[]): number | undefined {
    const times = ids.map((id) => {
      const atMs = this.seen.get(id) ?? 0;
      return atMs > Math.max(this.unseen.get(id) ?? 0, this.forgottenAtMs) ? atMs : 0;
    });
    const latest = Math.max(0, ...times);
    return latest > 0 ? latest : undefined;
  }

  entries(): RecordEntries {
    return { seen: [...this.seen], unseen: [...this.unseen], forgottenAtMs: this.forgottenAtMs };
  }
}
