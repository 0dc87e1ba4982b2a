/** What a list has decided: which ids were fresh when they arrived. A verdict goes by an item's first id. */
import { collectIds, countItems, idsOfItem, type ItemIdList } from "../input/ids.js";
import type { IdOf, ItemId } from "../types/seenguard.js";

/** What decides: a namespace. */
export interface Decider {
  /** The indices of the fresh items; `undefined`: there is no engine, and everything passes. */
  fresh(list: ItemIdList): Iterable<number> | undefined;
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
  /** Its first id, and all of them. */
  readonly id: string;
  readonly ids: readonly string[];
}

/** The items of a list that have an id. */
export function listItems<T>(list: readonly T[], idOf: IdOf<T> | undefined): ListItem[] {
  const collected = collectIds(list, idOf);
  return Array.from({ length: countItems(collected) }, (_, index) => {
    const ids = idsOfItem(collected, index).map(String);
    return { place: collected.places?.[index] ?? index, id: ids[0] ?? "", ids };
  });
}

export class Verdicts {
  /** First ids in the order of deciding. */
  private readonly fresh: Set<string>;
  /** First ids, with all ids of the item. */
  private readonly seen = new Map<string, readonly string[]>();
  private readonly onChange: () => void;
  /** The latest clear of the namespace that these are not from before. */
  clearNumber: number;
  /** What was last asked for what is unseen, and when. */
  private decider: Decider | undefined;
  private unseenRevision = 0;

  constructor(onChange: () => void = () => {}, fresh: Iterable<string> = [], clearNumber = 0) {
    this.onChange = onChange;
    this.fresh = new Set(fresh);
    this.clearNumber = clearNumber;
  }

  isFresh({ id }: ListItem): boolean {
    return this.fresh.has(id);
  }

  isDecided({ id }: ListItem): boolean {
    return this.fresh.has(id) || this.seen.has(id);
  }

  decide({ id, ids }: ListItem, isFresh: boolean): void {
    if (!isFresh) this.seen.set(id, ids);
    else {
      this.fresh.add(id);
      this.onChange();
    }
  }

  /** Forgets what is void by what the decider knows now: it is decided anew. */
  refresh(decider: Decider): void {
    if (decider.number > this.clearNumber) {
      this.clear();
      this.clearNumber = decider.number;
    }
    if (decider === this.decider && decider.unseenRevision === this.unseenRevision) return;
    this.decider = decider;
    this.unseenRevision = decider.unseenRevision;
    const ids = [...this.seen.values()].flat();
    if (ids.length === 0) return;
    const unseen = new Set(Array.from(decider.unseen(ids), (index) => ids[index]));
    for (const [id, all] of this.seen) if (all.some((each) => unseen.has(each))) this.seen.delete(id);
  }

  clear(): void {
    this.fresh.clear();
    this.seen.clear();
    this.onChange();
  }

  /** So many fresh ids that were decided last. */
  latestFresh(most: number): string[] {
    return [...this.fresh].slice(-most);
  }
}
