/** `Feed`: one visible list. It decides each id once: an item that was fresh when it arrived stays after it is seen. */
import { deviceClock } from "../platform/host.js";
import { splitByIds, type ItemIdList } from "../input/ids.js";
import type * as Api from "../types/seenguard.js";
import { checkFill, Pages, type FeedHost } from "./fill.js";
import type { KeyedVerdicts } from "./keyed-verdicts.js";
import { readItems, Verdicts, type ListItem, type ItemList } from "./verdicts.js";

/** The feed for the app. It has only methods, so that proxies, such as Vue's, have no objects to wrap. */
export function openFeed(host: FeedHost, keyed?: KeyedVerdicts, key = ""): Api.Feed {
  let list = new List(host, keyed?.of(key) ?? new Verdicts());
  const used = () => {
    keyed?.use(key, list.verdicts);
    return list;
  };
  return {
    filter: <T>(items: readonly T[], id?: Api.IdOf<T>) => {
      const read = readItems(items, id, host.report);
      return used().filter(read);
    },
    admit: <T>(page: readonly T[], id?: Api.IdOf<T>) => {
      const read = readItems(page, id, host.report);
      return used().admit(page, read);
    },
    fill: async (...args: [unknown, unknown, unknown?]) => used().pages.fill(checkFill(...args)) as Promise<never>,
    reset: () => {
      const { pages } = list;
      list = new List(host, keyed?.begin(key) ?? new Verdicts());
      pages.stop("the feed was reset");
    },
  };
}

/** A feed without a guard: each id is fresh. */
export function passingFeed(): Api.Feed {
  const namespace = {
    clock: deviceClock,
    generation: 0,
    unseenRevision: 0,
    split: (list: ItemIdList) => splitByIds(list, []),
    unseen: () => [],
    apply: () => {},
    headers: () => ({}),
  };
  return openFeed({ namespace: () => namespace, report: () => {}, stops: new Set() });
}

/** The list of a feed between two resets. */
class List {
  readonly verdicts: Verdicts;
  readonly pages: Pages;
  private readonly host: FeedHost;
  /** The ids of all admitted pages. */
  private readonly admitted = new Set<string>();
  /** The latest admitted page: the array, its ids, and which of its items are shown. */
  private latest: { readonly page: unknown; readonly ids: readonly unknown[]; readonly shown: Uint8Array } = {
    page: undefined,
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

  /** A list with the same ids as the latest page, or the same array grown, is that page; any other list is a new one. */
  admit<T>(page: readonly T[], { all, items }: ItemList<T>): T[] {
    const ids = new Array<unknown>(all.length).fill(undefined);
    for (const { index, id } of items) ids[index] = id;
    // React runs updaters twice, and a proxy returns other objects with each read: compare ids.
    const { latest } = this;
    const maybeSame = latest.page === page ? latest.ids.length <= ids.length : latest.ids.length === ids.length;
    const isSame = maybeSame && latest.ids.every((id, index) => id === ids[index]);
    const added = isSame ? items.filter(({ index }) => index >= latest.ids.length) : items;
    const shown = this.decide({ all, items: added }, this.admitted);
    if (isSame) shown.set(latest.shown);
    this.latest = { page, ids, shown };
    return itemsAt(all, shown);
  }

  /**
   * Decides which items of a list are shown, by index: items without an id, and fresh ones without an id in `shownIds`,
   * to which their ids are added. Items decided earlier take precedence: they stay, even if another item has one of
   * their ids. A duplicate is not shown and stays undecided.
   */
  private decide({ all, items }: ItemList<unknown>, shownIds: Set<string>): Uint8Array {
    const { fresh, seen, onChange } = this.verdicts;
    const namespace = this.host.namespace();
    this.verdicts.refresh(namespace);
    const shown = new Uint8Array(all.length).fill(1);
    for (const { index } of items) shown[index] = 0;
    const isDuplicate = ({ ids }: ListItem) => ids.some((id) => shownIds.has(id));
    const show = (item: ListItem) => {
      if (isDuplicate(item)) return;
      for (const id of item.ids) shownIds.add(id);
      shown[item.index] = 1;
    };
    for (const item of items) if (fresh.has(item.id)) show(item);
    const undecided = items.filter((item) => !fresh.has(item.id) && !seen.has(item.id) && !isDuplicate(item));
    if (undecided.length === 0) return shown;
    const freshIndices = new Set(namespace.split(idListOf(undecided), false).fresh);
    undecided.forEach((item, index) => {
      if (isDuplicate(item)) return;
      if (!freshIndices.has(index)) return void seen.set(item.id, item.ids);
      // Without an engine everything is fresh, and an engine that loads late removes nothing from a list on screen.
      fresh.add(item.id);
      show(item);
    });
    onChange();
    return shown;
  }
}

function itemsAt<T>(all: readonly T[], shown: Uint8Array): T[] {
  return all.filter((_, index) => shown[index]);
}

function idListOf(items: readonly ListItem[]): { ids: string[]; ends: number[] | undefined } {
  const ids: string[] = [];
  const ends = items.map((item) => ids.push(...item.ids));
  return { ids, ends: ids.length === items.length ? undefined : ends };
}
