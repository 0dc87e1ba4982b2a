/** `Feed`: one visible list. It decides each id once: what was fresh when it arrived stays though it was seen since. */
import { deviceClock } from "../host.js";
import { copyList, countItems, type ItemIdList } from "../input/ids.js";
import { misuseOfList } from "../misuse.js";
import type * as Api from "../types/seenguard.js";
import { checkFill, Pages, type PagesHost } from "./fill.js";
import type { KeyedVerdicts } from "./keyed-verdicts.js";
import { listItems, Verdicts, type Decider, type ListItem } from "./verdicts.js";

/** What a feed needs of its guard. */
export interface FeedHost extends PagesHost {
  readonly namespace: () => Decider & ReturnType<PagesHost["namespace"]>;
}

/** What the app gets: methods alone, so that proxies, such as Vue's, find nothing to wrap. */
export function openFeed(host: FeedHost, keyed?: KeyedVerdicts, key = ""): Api.Feed {
  let list = new List(host, keyed?.of(key) ?? new Verdicts());
  const used = () => {
    keyed?.use(key, list.verdicts);
    return list;
  };
  return {
    filter: <T>(items: readonly T[], id?: Api.IdOf<T>) => used().filter(items, id),
    admit: <T>(page: readonly T[], id?: Api.IdOf<T>) => used().admit(page, id),
    fill: <T, C>(fetchPage: Api.FetchPage<T, C>, want: number, options: Api.FillOptions & { id?: Api.IdOf<T> } = {}) =>
      used().fill(fetchPage, want, options),
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
    fresh: (list: ItemIdList) => Array(countItems(list)).keys(),
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
    this.pages = new Pages(host, (page, idOf) => {
      const items = this.itemsOf(page, idOf);
      const shown = this.decide(page, items, this.admitted);
      return { fresh: page.filter((_, place) => shown[place]), ids: items.map(({ id }) => id) };
    });
  }

  filter<T>(items: readonly T[], idOf: Api.IdOf<T> | undefined): T[] {
    const list = copyList(items);
    const shown = this.decide(list, this.itemsOf(list, idOf), new Set());
    return list.filter((_, place) => shown[place]);
  }

  admit<T>(page: readonly T[], idOf: Api.IdOf<T> | undefined): T[] {
    const list = copyList(page);
    const items = this.itemsOf(list, idOf);
    const ids = new Array<unknown>(list.length).fill(undefined);
    for (const { place, id } of items) ids[place] = id;
    // React's updaters run twice, and each reading of a proxy gives other objects.
    const { latest } = this;
    const isAgain = latest.ids.length <= ids.length && latest.ids.every((id, place) => id === ids[place]);
    const added = isAgain ? items.filter(({ place }) => place >= latest.ids.length) : items;
    const shown = this.decide(list, added, this.admitted);
    if (isAgain) shown.set(latest.shown);
    this.latest = { ids, shown };
    return list.filter((_, place) => shown[place]);
  }

  async fill<T, C>(
    fetchPage: Api.FetchPage<T, C>,
    want: number,
    options: Api.FillOptions & { id?: Api.IdOf<T> },
  ): Promise<Api.FillResult<T, C>> {
    return (await this.pages.fill(checkFill(fetchPage, want, options))) as Api.FillResult<T, C>;
  }

  /** The items of a list that have an id. This calls the app, which may call this feed: nothing is decided before. */
  private itemsOf<T>(list: readonly T[], idOf: Api.IdOf<T> | undefined): ListItem[] {
    const items = listItems(list, idOf);
    if (items.length === 0) this.host.tell(misuseOfList(list, idOf));
    return items;
  }

  /**
   * Which of a list's items are shown, by place: those without an id, and the fresh ones that have no id in `taken`,
   * where theirs are then. What was decided before comes first: it stays, whatever else has its ids. A duplicate stays
   * undecided: it is not shown.
   */
  private decide(list: readonly unknown[], items: readonly ListItem[], taken: Set<string>): Uint8Array {
    const { verdicts } = this;
    const namespace = this.host.namespace();
    verdicts.refresh(namespace);
    const shown = new Uint8Array(list.length).fill(1);
    const isTaken = ({ ids }: ListItem) => ids.some((id) => taken.has(id));
    const show = ({ place, ids }: ListItem) => {
      for (const id of ids) taken.add(id);
      shown[place] = 1;
    };
    for (const item of items) {
      shown[item.place] = 0;
      if (verdicts.isFresh(item) && !isTaken(item)) show(item);
    }
    const undecided = items.filter((item) => !verdicts.isDecided(item) && !isTaken(item));
    if (undecided.length === 0) return shown;
    const fresh = namespace.fresh(idListOf(undecided));
    const indices = fresh && new Set(fresh);
    undecided.forEach((item, index) => {
      if (isTaken(item)) return;
      // Without an engine everything passes for now, and nothing is decided.
      if (indices) verdicts.decide(item, indices.has(index));
      if (!indices || indices.has(index)) show(item);
    });
    return shown;
  }
}

function idListOf(items: readonly ListItem[]): { ids: string[]; ends: number[] | undefined } {
  const ids: string[] = [];
  const ends = items.map((item) => ids.push(...item.ids));
  return { ids, ends: ids.length === items.length ? undefined : ends };
}
