/** `Feed`: one visible list. It decides each id once: what was fresh when it arrived stays though it was seen since. */
import type { SeenGuardError } from "../errors.js";
import { copyList } from "../input/ids.js";
import { misuseOfList, misuseOfPage } from "../misuse.js";
import type * as Api from "../types/seenguard.js";
import { checkFill, FillRun, type Source } from "./fill.js";
import { freshAndSeen, inGroups, WITHOUT_ID, type Shown } from "./ordering.js";
import { listItems, type Decider, type ListItem, type Verdict, type Verdicts } from "./verdicts.js";

/** What a feed needs of its guard. */
export interface FeedHost extends Decider {
  apply(snapshot: unknown): Api.ApplyResult;
  headers(): Record<string, string>;
}

/** Takes what went wrong, if anything did. */
type Report = (error: SeenGuardError | undefined) => void;

/** What a page brought. */
interface Admitted<T> {
  readonly fresh: readonly T[];
  readonly seen: readonly T[];
}

/** What the app gets of a feed: methods alone, so that proxies, such as Vue's, find nothing to wrap. */
export function openFeed(...args: ConstructorParameters<typeof Feed>): Api.Feed {
  const feed: Api.Feed = new Feed(...args);
  return {
    filter: feed.filter.bind(feed),
    admit: feed.admit.bind(feed),
    fill: feed.fill.bind(feed),
    reset: feed.reset.bind(feed),
  };
}

class Feed implements Api.Feed {
  /** The one at hand: it changes when the guard is closed. */
  private readonly guard: () => FeedHost;
  private readonly verdicts: Verdicts;
  private readonly showsSeen: boolean;
  private readonly report: Report;
  /** Ids that pages have brought. */
  private admitted = new Set<string>();
  /** What each page brought. */
  private pages = new WeakMap<readonly unknown[], Admitted<unknown>>();

  /** The run of `fill` that is going on. */
  private filling: FillRun<unknown> | undefined;
  /** What `fill` fetches next: the page's number and where it begins; nothing after the last page. */
  private nextPage = 0;
  private cursor: unknown;
  private hasEnded = false;
  /** Seen items that `fill` has not shown yet. */
  private heldBack: readonly unknown[] = [];
  /** What runs of `fill` brought before they failed. */
  private left: readonly unknown[] = [];

  constructor(guard: () => FeedHost, verdicts: Verdicts, showsSeen: boolean, report: Report) {
    this.guard = guard;
    this.verdicts = verdicts;
    this.showsSeen = showsSeen;
    this.report = report;
  }

  filter<T extends Api.Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: Api.IdOf<T>): T[];
  filter<T>(items: readonly T[], id?: Api.IdOf<T>): T[] {
    const list = copyList(items);
    const shown = this.decide(list, this.itemsOf(list, id), new Set());
    if (!this.showsSeen) return list.filter((_, place) => shown[place]);
    return itemsAt(list, inGroups(shown));
  }

  admit<T extends Api.Identified>(page: readonly T[]): T[];
  admit<T>(page: readonly T[], id: Api.IdOf<T>): T[];
  admit<T>(page: readonly T[], id?: Api.IdOf<T>): T[] {
    const { fresh, seen } = this.admitOnce(page, copyList(page), id);
    return [...fresh, ...seen];
  }

  fill<T, C = string>(
    fetchPage: Api.FetchPage<T, C>,
    want: number,
    options: Api.FillOptions & { id: Api.IdOf<T> },
  ): Promise<Api.FillResult<T, C>>;
  fill<T extends Api.Identified, C = string>(
    fetchPage: Api.FetchPage<T, C>,
    want: number,
    options?: Api.FillOptions,
  ): Promise<Api.FillResult<T, C>>;
  async fill<T, C>(
    fetchPage: Api.FetchPage<T, C>,
    want: number,
    options: Api.FillOptions & { id?: Api.IdOf<T> } = {},
  ): Promise<Api.FillResult<T, C>> {
    const { maxPages, signal, id } = checkFill<T>(fetchPage, want, options);
    const run = (this.filling ??= new FillRun(this.source(fetchPage, id), want, maxPages)) as FillRun<T>;
    const result = await run.join(signal);
    if (this.filling === run && run.isOver) this.filling = undefined;
    return result as Api.FillResult<T, C>;
  }

  reset(): void {
    this.filling?.abort();
    this.filling = undefined;
    this.nextPage = 0;
    this.cursor = undefined;
    this.hasEnded = false;
    this.heldBack = [];
    this.left = [];
    this.verdicts.clear();
    this.admitted = new Set();
    this.pages = new WeakMap();
  }

  /** The pages of a run of `fill`. */
  private source<T, C>(fetchPage: Api.FetchPage<T, C>, id: Api.IdOf<T> | undefined): Source<T> {
    const leftOver = this.heldBack.length;
    return {
      fetch: async (signal) => {
        if (this.hasEnded) return null;
        const cursor = this.cursor as C | undefined;
        return fetchPage({ page: this.nextPage, cursor, headers: this.guard().headers(), signal });
      },
      take: (page, signal) => {
        const misuse = misuseOfPage(page);
        this.report(misuse);
        if (misuse) throw misuse;
        const { items, snapshot, next } = page;
        const list = copyList(items);
        // Before the app hears of anything, and may reset this. An empty page without a next one is asked for again.
        if (list.length > 0 || next !== undefined) {
          this.nextPage++;
          this.cursor = next ?? undefined;
          this.hasEnded = next === null;
        }
        if (snapshot !== undefined) this.guard().apply(snapshot);
        // `onLag` may have reset this: the page is none of the new list's.
        if (signal.aborted) return { fresh: [], all: 0, isLast: true };
        const { fresh, seen } = this.admitOnce(items, list, id);
        this.heldBack = [...this.heldBack, ...seen];
        return { fresh, all: list.length, isLast: this.hasEnded || (list.length === 0 && next === undefined) };
      },
      takeSeen: (most) => this.takeHeldBack(most, leftOver, id),
      takeLeft: () => {
        const left = this.left as readonly T[];
        this.left = [];
        return left;
      },
      leave: (items) => {
        this.left = items;
      },
      outlook: (end) => ({
        done: (this.hasEnded || end === "exhausted") && this.heldBack.length + this.left.length === 0,
        next: this.hasEnded ? null : this.cursor,
      }),
    };
  }

  /** What is admitted of a page; the same array again gives the same answer. */
  private admitOnce<T>(page: readonly T[], list: readonly T[], id: Api.IdOf<T> | undefined): Admitted<T> {
    const known = this.pages.get(page) as Admitted<T> | undefined;
    if (known) return known;
    const items = this.itemsOf(list, id);
    let admitted = this.pages.get(page) as Admitted<T> | undefined;
    if (!admitted) {
      const { fresh, seen } = freshAndSeen(this.decide(list, items, this.admitted));
      admitted = { fresh: itemsAt(list, fresh), seen: itemsAt(list, seen) };
      // Code without types may pass anything.
      if (typeof page === "object" && (page as unknown) !== null) this.pages.set(page, admitted);
    }
    return admitted;
  }

  /** Takes so many of the items that were held back, decided and ordered anew all together. */
  private takeHeldBack<T>(most: number, leftOver: number, id: Api.IdOf<T> | undefined): { items: T[]; recent: number } {
    const list = this.heldBack as readonly T[];
    const items = this.itemsOf(list, id);
    this.verdicts.forget(items);
    const { fresh, seen } = freshAndSeen(this.decide(list, items, new Set()));
    const places = [...fresh, ...seen];
    const taken = places.slice(0, most);
    this.heldBack = itemsAt(
      list,
      places.slice(most).sort((a, b) => a - b),
    );
    return { items: itemsAt(list, taken), recent: taken.filter((place) => place >= leftOver).length };
  }

  /** The items of a list that have an id. This calls the app, which may call this feed: nothing is decided before. */
  private itemsOf<T>(list: readonly T[], id: Api.IdOf<T> | undefined): ListItem[] {
    const items = listItems(list, id);
    if (items.length === 0) this.report(misuseOfList(list, id));
    return items;
  }

  /**
   * The verdicts on what is shown of a list: those without an id, and of the others each that has no id in `taken`,
   * where its ids are then. What was decided before comes first: it stays, whatever else has its ids.
   */
  private decide(list: readonly unknown[], items: readonly ListItem[], taken: Set<string>): Shown {
    const { verdicts } = this;
    const guard = this.guard();
    verdicts.refresh(guard);
    const shown = new Array<Verdict | undefined>(list.length).fill(WITHOUT_ID);
    const isTaken = ({ ids }: ListItem) => ids.some((each) => taken.has(each));
    const show = (candidates: readonly ListItem[], isSeen = false) => {
      for (const item of candidates) {
        const verdict = verdicts.of(item);
        if (!verdict || verdict.rank > 0 !== isSeen || isTaken(item)) continue;
        for (const each of item.ids) taken.add(each);
        shown[item.place] = verdict;
      }
      if (this.showsSeen && !isSeen) show(candidates, true);
    };
    for (const { place } of items) shown[place] = undefined;
    show(items);
    for (;;) {
      // What duplicates something that is not shown itself is decided in the next round.
      const undecided = items.filter((item) => !verdicts.of(item) && !isTaken(item));
      if (undecided.length === 0) break;
      const decided = verdicts.decide(undecided, guard);
      show(undecided);
      // Without an engine everything passes for now, and nothing is decided.
      if (!guard.isAlive) verdicts.forget(undecided);
      if (decided === 0) break;
    }
    return shown;
  }
}

function itemsAt<T>(list: readonly T[], places: readonly number[]): T[] {
  return places.map((place) => list[place] as T);
}
