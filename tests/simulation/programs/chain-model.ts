/** A user's chain on the server, as plainly as it can be written: nothing expires or drops out. */

/** An impression as a device reports it: Unix ms of a clock that agrees with the server's. */
export interface Reported {
  readonly id: string;
  readonly at: number;
}

export const canBeTakenBack = (id: string): boolean => new TextEncoder().encode(id).length <= 256;

export class ChainModel {
  private readonly shards = new Set<string>();
  /** What was taken back, and when (Unix ms). */
  private readonly unseen = new Map<string, number>();
  /** What was taken back and seen again, and when. */
  private readonly seenAgain = new Map<string, number>();
  private forgetBeforeMs = 0;

  copy(): ChainModel {
    const copy = new ChainModel();
    for (const id of this.shards) copy.shards.add(id);
    for (const [id, at] of this.unseen) copy.unseen.set(id, at);
    for (const [id, at] of this.seenAgain) copy.seenAgain.set(id, at);
    copy.forgetBeforeMs = this.forgetBeforeMs;
    return copy;
  }

  /** Returns how many no shard contained. */
  record(ids: readonly string[], nowMs: number): number {
    return ids.filter((id) => this.insert(id, nowMs)).length;
  }

  private insert(id: string, atMs: number): boolean {
    const isNew = !this.shards.has(id);
    this.shards.add(id);
    const known = this.unseen.get(id) ?? this.seenAgain.get(id);
    if (known !== undefined) this.seenAgain.set(id, Math.max(known, atMs));
    this.unseen.delete(id);
    return isNew;
  }

  /** Changes nothing if one of them cannot be taken back. */
  unsee(ids: readonly string[], nowMs: number): void {
    if (!ids.every(canBeTakenBack)) return;
    for (const id of ids) this.takeBack(id, nowMs);
    this.dropNeedless();
  }

  private takeBack(id: string, atMs: number): void {
    if (!canBeTakenBack(id)) return;
    if (atMs <= (this.seenAgain.get(id) ?? -1)) return;
    this.seenAgain.delete(id);
    this.unseen.set(id, Math.max(atMs, this.unseen.get(id) ?? 0));
  }

  /** What no shard contains passes as it is. */
  private dropNeedless(): void {
    for (const taken of [this.unseen, this.seenAgain])
      for (const id of taken.keys()) if (!this.shards.has(id)) taken.delete(id);
  }

  /** Returns how many ids no shard contained. */
  ingest(impressions: readonly Reported[], unseen: readonly Reported[]): number {
    const counts = ({ at }: Reported) => at >= this.forgetBeforeMs;
    for (const { id, at } of unseen.filter(counts)) this.takeBack(id, at);
    const left = impressions.filter(counts).filter(({ id, at }) => at > (this.unseen.get(id) ?? -1));
    const unknown = left.filter(({ id, at }) => this.insert(id, at)).length;
    this.dropNeedless();
    return unknown;
  }

  forget(now: number): void {
    this.shards.clear();
    this.unseen.clear();
    this.seenAgain.clear();
    this.forgetBeforeMs = Math.ceil(now) * 1000;
  }

  /** A snapshot has nothing of what was seen again. */
  ship(): void {
    this.seenAgain.clear();
  }

  isFresh(id: string): boolean {
    return !this.shards.has(id) || this.unseen.has(id);
  }

  /** The places of the fresh items. */
  filter(items: readonly (readonly string[])[], pending: ReadonlySet<string>): number[] {
    const kept = new Set<string>();
    const fresh: number[] = [];
    items.forEach((ids, place) => {
      if (ids.some((id) => !this.isFresh(id) || pending.has(id) || kept.has(id))) return;
      for (const id of ids) kept.add(id);
      fresh.push(place);
    });
    return fresh;
  }
}
