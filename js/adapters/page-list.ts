/** The list of a component that loads its own pages: the part of `useSeenPages` that no framework has a say in. */
import type { SeenPages, SeenPagesOptions } from "../types/react.js";
import type { Feed, FetchPage, FillOptions, IdOf, SeenGuard } from "../types/seenguard.js";
import { feedOf } from "./feed-view.js";

/** What a component shows. */
export type PageListState<T> = Omit<SeenPages<T>, "loadMore" | "reset">;

/** How a component loads pages. */
export interface PageSource<T, C> extends SeenPagesOptions {
  readonly fetchPage: FetchPage<T, C>;
  readonly id?: IdOf<T>;
}

/** Before there is a guard: pages will come. */
export const WAITING: PageListState<never> = { items: [], loading: true, error: undefined, end: false };

/** Lists with a key, as long as their guard lives: a component that comes back shows what it has shown. */
const keyed = new WeakMap<SeenGuard, Map<string, PageList<unknown, unknown>>>();

/** The list that a guard makes by an adapter's options. */
export function pageListOf<T, C>(
  guard: SeenGuard | undefined,
  key: SeenPagesOptions["key"],
  seen: SeenPagesOptions["seen"],
): PageList<T, C> | undefined {
  if (!guard) return undefined;
  if (key === undefined) return new PageList<T, C>(feedOf(guard, key, seen));
  const lists = keyed.get(guard) ?? new Map<string, PageList<unknown, unknown>>();
  keyed.set(guard, lists);
  const name = `${seen ?? ""}/${key}`;
  const list = lists.get(name) ?? new PageList(feedOf(guard, key, seen));
  lists.set(name, list);
  return list as PageList<T, C>;
}

export class PageList<T, C> {
  /** Another object whenever anything of it changes. */
  state: PageListState<T> = WAITING;
  private readonly feed: Feed;
  /** What pages have brought since the last reset. Until they bring anything, what was shown before stays. */
  private brought: readonly T[] = [];
  /** The run of `fill` that counts; one from before a reset does not. */
  private run: { readonly ended: Promise<void>; readonly controller: AbortController } | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(feed: Feed) {
    this.feed = feed;
  }

  /** A component shows the list, and is told of changes. Loads it, unless it is there already. Returns release. */
  hold(source: PageSource<T, C>, onChange: () => void): () => void {
    const listener = () => onChange();
    this.listeners.add(listener);
    if (this.brought.length === 0) void this.loadMore(source);
    return () => {
      this.listeners.delete(listener);
      // A task later, so that a remount (StrictMode, a change of routes) ends nothing.
      setTimeout(() => this.listeners.size > 0 || this.run?.controller.abort());
    };
  }

  /** Loads more, unless there is no more; calls that overlap share one run. */
  loadMore(source: PageSource<T, C>): Promise<void> {
    if (this.state.end) return Promise.resolve();
    return (this.run ?? this.begin(source)).ended;
  }

  /** A new list begins. */
  reset(source: PageSource<T, C>): Promise<void> {
    this.feed.reset();
    this.brought = [];
    return this.begin(source).ended;
  }

  private begin(source: PageSource<T, C>): NonNullable<PageList<T, C>["run"]> {
    const controller = new AbortController();
    const ended: Promise<void> = this.fill(source, controller.signal).then(({ items, error, end }) => {
      if (this.run !== run) return;
      this.run = undefined;
      if (items.length > 0) this.brought = [...this.brought, ...items];
      const isShown = error === undefined || this.brought.length > 0;
      this.change({ items: isShown ? this.brought : this.state.items, loading: false, error, end });
    });
    const run = { ended, controller };
    this.run = run;
    if (!this.state.loading) this.change({ loading: true, error: undefined, end: false });
    return run;
  }

  private async fill(source: PageSource<T, C>, signal: AbortSignal): Promise<Omit<PageListState<T>, "loading">> {
    const { fetchPage, want, maxPages, id } = source;
    const options = { maxPages, id, signal } as FillOptions & { id: IdOf<T> };
    try {
      const { items, end, error, done } = await this.feed.fill(fetchPage, want, options);
      if (end !== "error") return { items, error: undefined, end: done };
      // What came before the error is shown beside it.
      return { items: (await this.feed.fill(fetchPage, 0, options)).items, error, end: false };
    } catch (error) {
      return { items: [], error, end: false };
    }
  }

  private change(changes: Partial<PageListState<T>>): void {
    this.state = { ...this.state, ...changes };
    for (const listener of [...this.listeners]) listener();
  }
}
