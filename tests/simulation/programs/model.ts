/** A plain model of a guard and a feed: the oracle of the programs. */

/** The ids of an item as strings, its own first. */
export type Ids = readonly string[];

interface Recording {
  readonly isSeen: boolean;
  readonly atMs: number;
  isCovered: boolean;
}

/** A guard without a storage, whose window does not end. */
export class GuardModel {
  nowMs: number;
  version: number | undefined;
  /** What the snapshot in use contains. */
  private shards: ReadonlySet<string> = new Set();
  /** By id, in the order of recording. */
  private readonly table = new Map<string, Recording>();
  /** The changes that a report has yet to deliver. */
  private readonly undelivered = new Set<string>();

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** Returns how many were not known. */
  record(ids: Ids): number {
    return ids.filter((id) => {
      const isKnown = this.table.get(id)?.isSeen ?? false;
      this.add(id, { isSeen: true, atMs: this.nowMs, isCovered: this.shards.has(id) });
      return !isKnown;
    }).length;
  }

  /** Returns how many were stopped. */
  unsee(ids: Ids): number {
    return ids.filter((id) => {
      const isStopped = this.why(id) !== undefined;
      this.add(id, { isSeen: false, atMs: this.nowMs, isCovered: false });
      return isStopped;
    }).length;
  }

  private add(id: string, recording: Recording): void {
    this.table.delete(id);
    this.table.set(id, recording);
    this.undelivered.add(id);
  }

  /** Returns what it covers; `undefined`: it is older than the one in use. */
  apply(shards: ReadonlySet<string>, version: number | undefined): string[] | undefined {
    if (version !== undefined && this.version !== undefined && version < this.version) return undefined;
    this.version = version;
    this.shards = shards;
    const covered = this.pending().filter((id) => shards.has(id));
    for (const id of covered) this.table.set(id, { ...this.recordingOf(id), isCovered: true });
    return covered;
  }

  private recordingOf(id: string): Recording {
    const recording = this.table.get(id);
    if (!recording) throw new Error(`${id} was not recorded`);
    return recording;
  }

  /** Why an id is stopped; `undefined`: it is fresh. */
  why(id: string): "pending" | "device" | "server" | undefined {
    const recording = this.table.get(id);
    if (recording?.isSeen) return recording.isCovered ? "device" : "pending";
    return !recording && this.shards.has(id) ? "server" : undefined;
  }

  isUnseen(id: string): boolean {
    return this.table.get(id)?.isSeen === false;
  }

  pending(): string[] {
    return [...this.table.keys()].filter((id) => this.why(id) === "pending");
  }

  get remembered(): number {
    return [...this.table.values()].filter(({ isSeen }) => isSeen).length;
  }

  /** Whether something was delivered that was to be: an impression, or that an id became unseen. */
  deliver(id: string, isSeen: boolean): boolean {
    return this.undelivered.delete(id) && this.isUnseen(id) !== isSeen;
  }

  /** What was to be delivered has not arrived. */
  deliverAgain(ids: Ids): void {
    for (const id of ids) this.undelivered.add(id);
  }

  get left(): number {
    return this.undelivered.size;
  }

  /** The indices of the fresh items, and of the others without repeats, those seen longest ago first. */
  split(items: readonly Ids[]): { fresh: number[]; seen: number[] } {
    const [kept, keptSeen] = [new Set<string>(), new Set<string>()];
    const [fresh, seen]: [number[], number[]] = [[], []];
    items.forEach((ids, index) => {
      if (ids.length === 0) {
        fresh.push(index);
        return;
      }
      const isStopped = ids.some((id) => this.why(id) !== undefined);
      if (ids.some((id) => kept.has(id) || (isStopped && keptSeen.has(id)))) return;
      for (const id of ids) (isStopped ? keptSeen : kept).add(id);
      (isStopped ? seen : fresh).push(index);
    });
    const lastSeen = (index: number) => Math.max(...(items[index] ?? []).map((id) => this.seenAt(id)));
    return { fresh, seen: seen.sort((a, b) => lastSeen(a) - lastSeen(b) || a - b) };
  }

  /** When an id was seen. An id that only the server knows counts as older than all that this device has shown. */
  private seenAt(id: string): number {
    const why = this.why(id);
    if (why === undefined) return -Infinity;
    return why === "server" ? 0 : this.recordingOf(id).atMs;
  }
}

/** A feed that leaves out what was seen, of items with at most one id. */
export class FeedModel {
  private readonly guard: GuardModel;
  /** Whether each id was fresh when it was decided. */
  private readonly verdicts = new Map<string, boolean>();
  private readonly admitted = new Set<string>();
  private latest: { readonly ids: readonly unknown[]; readonly indices: readonly number[] } = { ids: [], indices: [] };

  constructor(guard: GuardModel) {
    this.guard = guard;
  }

  /** The indices of the items that are shown. */
  filter(items: readonly Ids[], shown = new Set<string>()): number[] {
    for (const [id, isFresh] of this.verdicts) if (!isFresh && this.guard.isUnseen(id)) this.verdicts.delete(id);
    const indices: number[] = [];
    items.forEach(([id], index) => {
      if (id !== undefined) {
        if (shown.has(id)) return;
        const isFresh = this.verdicts.get(id) ?? this.guard.why(id) === undefined;
        this.verdicts.set(id, isFresh);
        if (!isFresh) return;
        shown.add(id);
      }
      indices.push(index);
    });
    return indices;
  }

  /** The same for a page, without the ids of earlier pages. A page that begins as the latest did is that page again. */
  admit(items: readonly Ids[]): number[] {
    const ids = items.map(([id]) => id);
    const { latest } = this;
    const isAgain = latest.ids.every((id, index) => index < ids.length && id === ids[index]);
    const known = isAgain ? latest.ids.length : 0;
    const added = this.filter(items.slice(known), this.admitted).map((index) => known + index);
    const indices = isAgain ? [...latest.indices, ...added] : added;
    this.latest = { ids, indices };
    return indices;
  }

  reset(): void {
    this.latest = { ids: [], indices: [] };
    this.verdicts.clear();
    this.admitted.clear();
  }
}
