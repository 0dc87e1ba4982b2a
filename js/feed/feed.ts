/** `Feed`: one visible list. It decides each id once: what was fresh when it arrived stays though it was seen since. */
import { SeenGuardError, type ErrorListener } from "../errors.js";
import { collectIds, copyList } from "../ids.js";
import type * as Api from "../types/seenguard.js";
import { checkFill, FillRun, type Source } from "./fill.js";

/** What a feed asks of its guard. */
export interface Decider {
  freshOf(ids: readonly Api.ItemId[], withoutId: number): Iterable<number>;
  apply(snapshot: Api.Snapshot | null | undefined): Api.ApplyReport;
}

/** Most verdicts that a feed keeps. */
const MAX_VERDICTS = 20_000;

export class Feed implements Api.Feed {
  private readonly guard: Decider;
  private readonly report: ErrorListener;
  /** Whether an id is fresh, in the order of deciding. */
  private verdicts = new Map<string, boolean>();
  /** Ids that a page has brought. */
  private admitted = new Set<string>();
  /** Whether verdicts were forgotten for want of room, which is reported once. */
  private isFull = false;
  /** What each page got. */
  private pages = new WeakMap<readonly unknown[], readonly unknown[]>();

  /** The run of `fill` that is going on. */
  private filling: FillRun<unknown> | undefined;
  /** The number of the page that `fill` fetches next. */
  private nextPage = 0;

  constructor(guard: Decider, report: ErrorListener) {
    this.guard = guard;
    this.report = report;
  }

  filter<T extends Api.Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: Api.IdOf<T>): T[];
  filter<T>(items: readonly T[], id?: Api.IdOf<T>): T[] {
    return this.select(copyList(items), id, new Set());
  }

  admit<T extends Api.Identified>(page: readonly T[]): T[];
  admit<T>(page: readonly T[], id: Api.IdOf<T>): T[];
  admit<T>(page: readonly T[], id?: Api.IdOf<T>): T[] {
    return this.admitOnce(page, copyList(page), id);
  }

  fill<T>(
    fetchPage: Api.FetchPage<T>,
    want: number,
    options: Api.FillOptions & { id: Api.IdOf<T> },
  ): Promise<Api.FillResult<T>>;
  fill<T extends Api.Identified>(
    fetchPage: Api.FetchPage<T>,
    want: number,
    options?: Api.FillOptions,
  ): Promise<Api.FillResult<T>>;
  async fill<T>(
    fetchPage: Api.FetchPage<T>,
    want: number,
    options: Api.FillOptions & { id?: Api.IdOf<T> } = {},
  ): Promise<Api.FillResult<T>> {
    const maxPages = checkFill(fetchPage, want, options);
    const run = (this.filling ??= new FillRun(this.source(fetchPage, options.id), want, maxPages)) as FillRun<T>;
    const result = await run.join(options.signal);
    if (this.filling === run) this.filling = undefined;
    return result;
  }

  reset(): void {
    this.filling?.abort();
    this.filling = undefined;
    this.nextPage = 0;
    this.verdicts = new Map();
    this.admitted = new Set();
    this.pages = new WeakMap();
  }

  /** The pages of a run of `fill`. */
  private source<T>(fetchPage: Api.FetchPage<T>, id: Api.IdOf<T> | undefined): Source<T> {
    return {
      fetch: (signal) => fetchPage({ page: this.nextPage, signal }),
      take: ({ items, seen }) => {
        const list = copyList(items);
        // Before the app hears of anything, and may reset this.
        if (list.length > 0) this.nextPage++;
        if (seen !== undefined) this.guard.apply(seen);
        return { fresh: this.admitOnce(items, list, id), all: list.length };
      },
    };
  }

  /** What is admitted of a page; the same array again gives the same answer. */
  private admitOnce<T>(page: readonly T[], list: readonly T[], id: Api.IdOf<T> | undefined): T[] {
    let admitted = this.pages.get(page) as readonly T[] | undefined;
    if (!admitted) {
      admitted = this.select(list, id, this.admitted);
      // Code without types may pass anything.
      if (typeof page === "object" && (page as unknown) !== null) this.pages.set(page, admitted);
    }
    return admitted.slice();
  }

  /** The items that the verdicts pass and that are not `taken` yet, which they are then; those without an id stay. */
  private select<T>(list: readonly T[], id: Api.IdOf<T> | undefined, taken: Set<string>): T[] {
    const { ids, places } = collectIds(list, id);
    const keys = ids.map(String);
    this.decide(ids, list.length - ids.length);
    const stopped = new Set<number>();
    keys.forEach((key, index) => {
      if (this.verdicts.get(key) && !taken.has(key)) taken.add(key);
      else stopped.add(places?.[index] ?? index);
    });
    this.forgetOldest(keys);
    return list.filter((_, index) => !stopped.has(index));
  }

  /** Asks the guard for what is not decided yet. It counts the items without an id, too: they come up at every call. */
  private decide(ids: readonly Api.ItemId[], withoutId: number): void {
    const undecided = ids.filter((id) => !this.verdicts.has(String(id)));
    if (undecided.length === 0 && withoutId === 0) return;
    for (const id of undecided) this.verdicts.set(String(id), false);
    for (const index of this.guard.freshOf(undecided, withoutId)) this.verdicts.set(String(undecided[index]), true);
  }

  /** Keeps the verdicts within their limit; those of the list at hand go last. */
  private forgetOldest(current: readonly string[]): void {
    if (this.verdicts.size <= MAX_VERDICTS) return;
    const message = `a feed keeps ${MAX_VERDICTS} verdicts: the oldest are decided anew`;
    if (!this.isFull) this.report(new SeenGuardError("too-large", message));
    this.isFull = true;
    const kept = new Set(current);
    const others = [...this.verdicts.keys()].filter((key) => !kept.has(key));
    for (const key of [...others, ...kept].slice(0, this.verdicts.size - MAX_VERDICTS)) {
      this.verdicts.delete(key);
      this.admitted.delete(key);
    }
  }
}
