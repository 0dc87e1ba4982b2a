/** `Feed`: one visible list. It decides each id once: what was fresh when it arrived stays though it was seen since. */
import type { SeenGuardError } from "../errors.js";
import { deviceClock, type Clock } from "../host.js";
import { copyList } from "../input/ids.js";
import { misuseOfList } from "../misuse.js";
import type * as Api from "../types/seenguard.js";
import { checkFill, Pages } from "./fill.js";
import type { KeyedVerdicts } from "./keyed-verdicts.js";
import { listItems, Verdicts, type Decider, type ListItem } from "./verdicts.js";

/** What a feed needs of its guard. */
export interface FeedHost {
  /** Another one once the guard is closed. */
  readonly namespace: () => Decider & {
    readonly clock: Clock;
    apply(snapshot: unknown): unknown;
    headers(): Record<string, string>;
  };
  readonly tell: (error: SeenGuardError | undefined) => void;
  /** What `close` stops. */
  readonly stops: Set<() => void>;
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
    fill: async (...args: [unknown, unknown, unknown?]) => used().pages.fill(checkFill(...args)) as Promise<never>,
    reset: () => {
      const { pages } = list;
      list = new List(host, keyed?.begin(key) ?? new Verdicts());
      pages.stop();
    },
  };
}

/** A feed where there is no guard: each id passes once. */
export function passingFeed(): Api.Feed {
  const namespace = {
    clock: deviceClock,
    number: 0,
    unseenRevision: 0,
    fresh: () => undefined,
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
    const { fresh, seen, onChange } = this.verdicts;
    const namespace = this.host.namespace();
    this.verdicts.refresh(namespace);
    const shown = new Uint8Array(list.length).fill(1);
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

function idListOf(items: readonly ListItem[]): { ids: string[]; ends: number[] | undefined } {
  const ids: string[] = [];
  const ends = items.map((item) => ids.push(...item.ids));
  return { ids, ends: ids.length === items.length ? undefined : ends };
}
