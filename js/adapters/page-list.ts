/** The list of a component that loads its own pages: the framework-independent part of `useSeenPages`. */
import { errorNameOf } from "../errors.js";
import { pause } from "../platform/host.js";
import { setLatest, MAX_KEYS } from "../feed/keyed-verdicts.js";
import type { SeenPages, SeenPagesOptions } from "../types/react.js";
import type { Feed, FetchPage, FillOptions, IdOf, SeenGuard } from "../types/seenguard.js";
import { feedOf } from "./feed-view.js";
import { isClosed } from "./shared-guard.js";

/** The state that a component shows. */
export type PageListState<T> = Omit<SeenPages<T>, "loadMore" | "reset">;

export interface PageOptions<T> extends SeenPagesOptions {
  readonly id?: IdOf<T>;
}

/** The source of a component's pages. */
export interface PageSource<T, C> extends PageOptions<T> {
  readonly fetchPage: FetchPage<T, C>;
}

/** The state before there is a guard: loading. */
export const WAITING: PageListState<never> = { items: [], loading: true, error: undefined, done: false };

/**
 * The lists with a key, for as long as their guard exists: a component that mounts again shows its list. At most
 * `MAX_KEYS` of a guard, unless more are on screen.
 */
const keyed = new WeakMap<SeenGuard, Map<string, PageList<unknown, unknown>>>();

/** The list of a guard; `undefined`: the guard is not open yet. */
export function pageListOf<T, C>(
  guard: SeenGuard | null | undefined,
  key: string | undefined,
): PageList<T, C> | undefined {
  const feed = guard === undefined ? undefined : feedOf(guard, key);
  if (!feed) return undefined;
  const make = () => new PageList<T, C>(feed, guard);
  // Without a guard the user of the list is unknown.
  if (!guard || key === undefined) return make();
  const lists = keyed.get(guard) ?? new Map<string, PageList<unknown, unknown>>();
  keyed.set(guard, lists);
  const list = lists.get(key) ?? (make() as PageList<unknown, unknown>);
  setLatest(lists, key, list, MAX_KEYS, (each) => each === list || each.isShown);
  return list as PageList<T, C>;
}

/** A component's calls of its list. Before the guard is open there is none: later the first pages load by themselves. */
export class PageListCalls<T, C> {
  private readonly source: () => PageSource<T, C>;
  private list: PageList<T, C> | undefined;

  constructor(source: () => PageSource<T, C>) {
    this.source = source;
  }

  /** The component shows this list, if there is one already. Returns release. */
  readonly hold = (list: PageList<T, C> | undefined, onChange: () => void): (() => void) => {
    this.list = list;
    return list?.hold(this.source(), onChange) ?? (() => {});
  };

  readonly loadMore = (): Promise<void> => this.list?.loadMore(this.source()) ?? pause();
  readonly reset = (): Promise<void> => this.list?.reset(this.source()) ?? pause();
}

export class PageList<T, C> {
  /** A new object after each change. */
  state: PageListState<T> = WAITING;
  private readonly feed: Feed;
  private readonly guard: SeenGuard | null | undefined;
  /** The items of pages since the last reset. Until there are any, the previous items stay on screen. */
  private loaded: T[] = [];
  /** The current run of `fill`; one from before a reset is ignored. */
  private run: { readonly ended: Promise<void>; readonly controller: AbortController } | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(feed: Feed, guard: SeenGuard | null | undefined) {
    [this.feed, this.guard] = [feed, guard];
  }

  get isShown(): boolean {
    return this.listeners.size > 0;
  }

  /** Adds a component that shows the list. Starts or continues loading. Returns release. */
  hold(source: PageSource<T, C>, onChange: () => void): () => void {
    this.listeners.add(onChange);
    const hasFailed = this.state.error !== undefined && this.loaded.length === 0;
    if (this.state.loading || hasFailed) void this.loadMore(source);
    return () => {
      this.listeners.delete(onChange);
      // One task later, so that a remount (StrictMode, a change of routes) aborts nothing.
      setTimeout(() => {
        if (this.isShown) return;
        this.run?.controller.abort();
        this.run = undefined;
      });
    };
  }

  /** Loads more, unless the source has ended. A call during a run returns that run's promise. */
  loadMore(source: PageSource<T, C>): Promise<void> {
    // Yield to other tasks: a loop over an outdated `done` would freeze the page.
    return this.state.done ? pause() : (this.run ?? this.begin(source)).ended;
  }

  /** Starts a new list. */
  reset(source: PageSource<T, C>): Promise<void> {
    this.feed.reset();
    this.run?.controller.abort();
    this.loaded = [];
    return this.begin(source).ended;
  }

  private begin(source: PageSource<T, C>): NonNullable<typeof this.run> {
    const controller = new AbortController();
    const ended: Promise<void> = this.fill(source, controller.signal).then(({ items, error, done }) => {
      if (this.run !== run) return;
      this.run = undefined;
      if (items.length > 0) this.loaded = [...this.loaded, ...items];
      const isShown = error === undefined || this.loaded.length > 0;
      this.change({ items: isShown ? this.loaded : this.state.items, loading: false, error, done });
    });
    const run = { ended, controller };
    this.run = run;
    if (!this.state.loading) this.change({ loading: true, error: undefined, done: false });
    return run;
  }

  private async fill(source: PageSource<T, C>, signal: AbortSignal): Promise<Omit<PageListState<T>, "loading">> {
    const { fetchPage, want, maxPages, timeoutMs, id } = source;
    const options = { maxPages, timeoutMs, id, signal } as FillOptions & { id: IdOf<T> };
    try {
      const { items, done } = await this.feed.fill(fetchPage, want, options);
      return { items, error: undefined, done };
    } catch (error) {
      // The run has ended, or the guard was closed: the next run has the items fetched so far.
      const wasClosed = this.guard && isClosed(this.guard) && errorNameOf(error) === "AbortError";
      if (signal.aborted || wasClosed) return { items: [], error: undefined, done: false };
      // Show the items fetched before the error, unless an option is wrong, for which this rejects, too.
      const fetched = await this.feed.fill(fetchPage, 0, options).catch(() => undefined);
      return { items: fetched?.items ?? [], error, done: fetched?.done ?? false };
    }
  }

  private change(changes: Partial<PageListState<T>>): void {
    this.state = { ...this.state, ...changes };
    for (const listener of [...this.listeners]) listener();
  }
}
