/** The verdicts of a list: which ids were fresh when they arrived. An item's verdict is stored under its first id. */
import { countItems, idsOfItem, type ItemIdList } from "../input/ids.js";
import { readList, type MisuseListener } from "../input/list.js";
import type { IdOf, ItemId } from "../types/seenguard.js";

/** Decides which items are fresh: a namespace. */
export interface Decider {
  /** The indices of the fresh items; without an engine everything passes. */
  split(list: ItemIdList, withSeen: boolean): { readonly fresh: Iterable<number> };
  /** The indices of the ids that pass because they are unseen or forgotten. */
  unseen(ids: readonly ItemId[]): Iterable<number>;
  /** Grows when an id becomes unseen or is forgotten. */
  readonly unseenRevision: number;
  /** The generation of the latest known clear, Unix ms; 0: none. */
  readonly generation: number;
}

/** An item with an id. */
export interface ListItem {
  /** Its index in the list as passed. */
  readonly index: number;
  /** Its first id, and all of them. */
  readonly id: string;
  readonly ids: readonly string[];
}

/** A list as passed, and its items that have an id. */
export interface ItemList<T> {
  readonly all: readonly T[];
  readonly items: readonly ListItem[];
}

/** Reads the ids of a list. It comes before any decision, since `idOf` is the app's and may call the feed. */
export function readItems<T>(given: readonly T[], idOf: IdOf<T> | undefined, report: MisuseListener): ItemList<T> {
  const { list: all, collected } = readList(given, idOf, report);
  const items = Array.from({ length: countItems(collected) }, (_, item) => {
    const ids = idsOfItem(collected, item).map(String);
    return { index: collected.indices?.[item] ?? item, id: ids[0] ?? "", ids };
  });
  return { all, items };
}

export class Verdicts {
  /** The namespace's generation when these were decided. */
  generation: number;
  /** First ids, in the order in which they were decided. */
  readonly fresh: Set<string>;
  /** First ids, each with all ids of its item. */
  readonly seen = new Map<string, readonly string[]>();
  readonly onChange: () => void;
  /** The decider that was checked last for unseen ids, and its revision then. */
  private decider: Decider | undefined;
  private unseenRevision = 0;

  constructor(onChange: () => void = () => {}, generation = 0, fresh: Iterable<string> = []) {
    [this.onChange, this.generation, this.fresh] = [onChange, generation, new Set(fresh)];
  }

  /** Drops verdicts that a clear or an unseen id has made invalid; these ids are decided again. */
  refresh(decider: Decider): void {
    const { generation, unseenRevision } = decider;
    if (generation > this.generation) this.clear();
    this.generation = Math.max(this.generation, generation);
    if (decider === this.decider && unseenRevision === this.unseenRevision) return;
    [this.decider, this.unseenRevision] = [decider, unseenRevision];
    const ids = [...this.seen.values()].flat();
    const unseen = new Set(Array.from(ids.length > 0 ? decider.unseen(ids) : [], (index) => ids[index]));
    for (const [id, all] of this.seen) if (all.some((each) => unseen.has(each))) this.seen.delete(id);
  }

  clear(): void {
    this.fresh.clear();
    this.seen.clear();
    this.onChange();
  }
}
