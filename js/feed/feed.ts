/** `Feed`: one visible list. It decides each id once: what was fresh when it arrived stays though it was seen since. */
import { deviceClock } from "../platform/host.js";
import { indicesOf } from "../input/ids.js";
import type * as Api from "../types/seenguard.js";
import { checkFill, Pages, type FeedHost } from "./fill.js";
import type { KeyedVerdicts } from "./keyed-verdicts.js";
import { readItems, Verdicts, type ListItem, type ItemList } from "./verdicts.js";

/** What the app gets: methods alone, so that proxies, such as Vue's, find nothing to wrap. */
export function openFeed(host: FeedHost, keyed?: KeyedVerdicts, key = ""): Api.Feed {
  let list = new List(host, keyed?.of(key) ?? new Verdicts());
  const used = () => {
    keyed?.use(key, list.verdicts);
    return list;
  };
  return {
    filter: <T>(items: readonly T[], id?: Api.IdOf<T>) => {
      const read = readItems(items, id, host.tell);
      return used().filter(read);
    },
    admit: <T>(page: readonly T[], id?: Api.IdOf<T>) => {
      const read = readItems(page, id, host.tell);
      return used().admit(read);
    },
    fill: async (...args: [unknown, unknown, unknown?]) => used().pages.fill(checkFill(...args)) as Promise<never>,
    reset: () => {
      const { pages } = list;
      list = new List(host, keyed?.begin(key) ?? new Verdicts());
      pages.stop();
    },
  };
}

/** A feed where there is no guard: each id is fresh. */
export function passingFeed(): Api.Feed {
  const namespace = {
    clock: deviceClock,
    number: 0,
    unseenRevision: 0,
    fresh: indicesOf,
    unseen: () => [],
    apply: () => {},
    headers: () => ({}),
  };
  return openFeed({ namespace: () => namespace, tell: () => {}, stops: new Set() });
}

/** What a feed shows from one reset to the next. */
class List {
  readonly verdicts: Verdicts;
  readonly pages: Pages;
  private readonly host: FeedHost;
  /** The ids of what pages have brought. */
  private readonly admitted = new Set<string>();
  /** The latest page that was admitted: its ids, and which of its items are shown. */
  private latest: { readonly ids: readonly unknown[]; readonly shown: Uint8Array } = {
    ids: [],
    shown: new Uint8Array(),
  };

  constructor(host: FeedHost, verdicts: Verdicts) {
    [this.host, this.verdicts] = [host, verdicts];
    this.pages = new Pages(host, (page) => itemsAt(page.all, this.decide(page, this.admitted)));
  }

  filter<T>(list: ItemList<T>): T[] {
    return itemsAt(list.all, this.decide(list, new Set()));
  }

  admit<T>({ all, items }: ItemList<T>): T[] {
    const ids = new Array<unknown>(all.length).fill(undefined);
    for (const { place, id } of items) ids[place] = id;
    // React's updaters run twice, and each reading of a proxy gives other objects.
    const { latest } = this;
    const isAgain = latest.ids.length <= ids.length && latest.ids.every((id, place) => id === ids[place]);
    const added = isAgain ? items.filter(({ place }) => place >= latest.ids.length) : items;
    const shown = this.decide({ all, items: added }, this.admitted);
    if (isAgain) shown.set(latest.shown);
    this.latest = { ids, shown };
    return itemsAt(all, shown);
  }

  /**
   * Which of a list's items are shown, by place: those without an id, and the fresh ones that have no id in `taken`,
   * where theirs are then. What was decided before comes first: it stays, whatever else has its ids. A duplicate stays
   * undecided: it is not shown.
   */
  private decide({ all, items }: ItemList<unknown>, taken: Set<string>): Uint8Array {
    const { fresh, seen, onChange } = this.verdicts;
    const namespace = this.host.namespace();
    this.verdicts.refresh(namespace);
    const shown = new Uint8Array(all.length).fill(1);
    for (const { place } of items) shown[place] = 0;
    const isTaken = ({ ids }: ListItem) => ids.some((id) => taken.has(id));
    const show = (item: ListItem) => {
      if (isTaken(item)) return;
      for (const id of item.ids) taken.add(id);
      shown[item.place] = 1;
    };
    for (const item of items) if (fresh.has(item.id)) show(item);
    const undecided = items.filter((item) => !fresh.has(item.id) && !seen.has(item.id) && !isTaken(item));
    if (undecided.length === 0) return shown;
    const passing = namespace.fresh(idListOf(undecided));
    const indices = new Set(passing ?? undecided.keys());
    undecided.forEach((item, index) => {
      if (isTaken(item)) return;
      const isFresh = indices.has(index);
      // Without an engine everything passes for now, and nothing is decided.
      if (passing && isFresh) fresh.add(item.id);
      else if (passing) seen.set(item.id, item.ids);
      if (isFresh) show(item);
    });
    onChange();
    return shown;
  }
}

function itemsAt<T>(all: readonly T[], shown: Uint8Array): T[] {
  return all.filter((_, place) => shown[place]);
}

function idListOf(items: readonly ListItem[]): { ids: string[]; ends: number[] | undefined } {
  const ids: string[] = [];
  const ends = items.map((item) => ids.push(...item.ids));
  return { ids, ends: ids.length === items.length ? undefined : ends };
}
