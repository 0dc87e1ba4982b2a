/** What feeds have decided. A verdict goes by an item's first id; only a duplicate has none. */
import { collectIds, countItems, firstOfEach, idsOfItem, type ItemIdList } from "../input/ids.js";
import type { IdOf, ItemId } from "../types/seenguard.js";

type Indices = Iterable<number> & { readonly length: number };

/** What decides: the guard of a namespace. */
export interface Decider {
  /** `undefined`: there is no engine, and everything passes. */
  split(list: ItemIdList): { fresh: Indices; seen: Indices } | undefined;
  /** Whether there is one. */
  readonly isAlive: boolean;
  /** Which of these ids pass since they are unseen or forgotten. */
  unseen(ids: readonly ItemId[]): Iterable<number>;
  /** Grows whenever something is unseen or forgotten. */
  readonly unseenRevision: number;
  /** The namespace's latest clear that is known of, Unix ms; 0: none. */
  readonly number: number;
}

/** An item of a list that has an id. */
export interface ListItem {
  readonly place: number;
  /** Its first id. */
  readonly id: string;
  readonly ids: readonly string[];
}

export interface Verdict {
  /** What one call decided is a group. */
  readonly group: number;
  /** 0: fresh. Else seen, and the place among what is seen in its group. */
  readonly rank: number;
  /** The item's. */
  readonly ids: readonly string[];
}

/** Most that survive the document. */
const MAX_SAVED = 2_000;

/** Verdicts as they are saved. */
export type SavedVerdicts = readonly [clearNumber: number, verdicts: readonly (readonly (number | string)[])[]];

/** The items of a list that have an id. */
export function listItems<T>(list: readonly T[], idOf: IdOf<T> | undefined): ListItem[] {
  const collected = collectIds(list, idOf);
  const items = new Array<ListItem>(countItems(collected));
  for (let index = 0; index < items.length; index++) {
    const ids = idsOfItem(collected, index).map(String);
    items[index] = { place: collected.places?.[index] ?? index, id: ids[0] ?? "", ids };
  }
  return items;
}

export class Verdicts {
  private readonly onClear: () => void;
  /** By an item's first id, in the order of deciding. */
  private readonly byId = new Map<string, Verdict>();
  private groups = 0;
  /** The latest clear of the namespace that these are not from before. */
  private clearNumber = 0;
  /** Who was last asked what is unseen, and when. */
  private guard: Decider | undefined;
  private unseenRevision = 0;

  constructor(onClear: () => void = () => {}) {
    this.onClear = onClear;
  }

  of({ id }: ListItem): Verdict | undefined {
    return this.byId.get(id);
  }

  /** Forgets what is void by what the guard knows now: it is decided anew. */
  refresh(guard: Decider): void {
    if (guard.number > this.clearNumber) {
      this.clear();
      this.clearNumber = guard.number;
    }
    if (guard === this.guard && guard.unseenRevision === this.unseenRevision) return;
    this.guard = guard;
    this.unseenRevision = guard.unseenRevision;
    const seen = [...this.byId].filter(([, { rank }]) => rank > 0);
    const ids = seen.flatMap(([, verdict]) => verdict.ids);
    if (ids.length === 0) return;
    const unseen = new Set(Array.from(guard.unseen(ids), (index) => ids[index]));
    for (const [id, verdict] of seen) if (verdict.ids.some((each) => unseen.has(each))) this.byId.delete(id);
  }

  /** Decides items, which are a group then; one with an id of another stays undecided. Returns how many it decided. */
  decide(items: readonly ListItem[], guard: Decider): number {
    const list = idListOf(items);
    const { fresh, seen } = guard.split(list) ?? { fresh: firstOfEach(list), seen: [] };
    const group = ++this.groups;
    const note = (index: number, rank: number) => {
      const item = items[index];
      if (item) this.byId.set(item.id, { group, rank, ids: item.ids });
    };
    for (const index of fresh) note(index, 0);
    let rank = 0;
    for (const index of seen) note(index, ++rank);
    return fresh.length + rank;
  }

  forget(items: readonly ListItem[]): void {
    for (const { id } of items) this.byId.delete(id);
  }

  clear(): void {
    this.byId.clear();
    this.onClear();
  }

  /** The newest of them, to be restored in another document; `undefined`: there are none. */
  save(): SavedVerdicts | undefined {
    const newest = [...this.byId.values()].slice(-MAX_SAVED);
    if (newest.length === 0) return undefined;
    return [this.clearNumber, newest.map(({ group, rank, ids }) => [group, rank, ...ids])];
  }

  /** Takes over what was saved. What cannot be read is left out. */
  restore(saved: unknown): void {
    try {
      const [clearNumber, verdicts] = saved as SavedVerdicts;
      this.clearNumber = clearNumber;
      for (const [group, rank, ...ids] of verdicts) {
        const [id] = ids;
        if (!isCount(group) || !isCount(rank) || typeof id !== "string") continue;
        this.byId.set(id, { group, rank, ids: ids.map(String) });
        this.groups = Math.max(this.groups, group);
      }
    } catch {
      // It is none of ours: what came before it counts.
    }
  }
}

function idListOf(items: readonly ListItem[]): ItemIdList {
  const ids: string[] = [];
  const ends: number[] = [];
  for (const item of items) {
    for (const id of item.ids) ids.push(id);
    ends.push(ids.length);
  }
  return ids.length === items.length ? { ids } : { ids, ends };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
