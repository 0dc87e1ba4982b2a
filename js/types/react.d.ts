/** `seenguard/react`; its one peer is react, 18 or newer. For StrictMode, Suspense, server rendering. */
import type {
  FeedOptions,
  FetchPage,
  GuardOptions,
  Identified,
  IdOf,
  ItemId,
  ObserveOptions,
  SeenGuard,
} from "./seenguard.js";

/**
 * The guard of a namespace, shared by all that ask for it and closed when the last one has gone; `undefined` until it
 * is open, and from the very render in which the namespace changes until that one's is. Wrong options are thrown in
 * the render, for an error boundary.
 */
export declare function useSeenGuard(options: SharedGuardOptions): SeenGuard | undefined;

export interface SharedGuardOptions extends GuardOptions {
  /**
   * `SeenGuard.open` of the entry that the app uses. @default that of `seenguard`, which is loaded on demand then: a
   * bundler makes a chunk of its own of it, unless the app imports it elsewhere
   */
  open?: (options: GuardOptions) => Promise<SeenGuard>;
}

export interface SeenFeed<T> {
  /** The list to render. Same items, same array. Empty until the guard is open, so that no seen item flashes up. */
  items: readonly T[];
  /** Pull to refresh. */
  reset(this: void): void;
}
export interface SeenFeedOptions extends FeedOptions {
  /**
   * For lists that a server rendered: the items of the first render pass and stay, so that hydration matches; what
   * comes later is filtered.
   * @default false
   */
  ssr?: boolean;
}
/** The items of a list that are to be shown, as a `Feed` of the guard decides them: each id once. */
export declare function useSeenFeed<T extends Identified>(
  guard: SeenGuard | undefined,
  items: readonly T[],
  options?: SeenFeedOptions,
): SeenFeed<T>;
export declare function useSeenFeed<T>(
  guard: SeenGuard | undefined,
  items: readonly T[],
  options: SeenFeedOptions & { id: IdOf<T> },
): SeenFeed<T>;

/** A list that loads its own pages, by `Feed.fill`. */
export interface SeenPages<T> {
  /** The list to render. Same items, same array. */
  items: readonly T[];
  /** Pages are being fetched, or will be as soon as the guard is open. */
  loading: boolean;
  /** What the latest run failed with; `loadMore` tries again. Wrong options, too. */
  error: unknown;
  /** Nothing more will come, until `reset`. */
  end: boolean;
  /** Appends `want` items or more. Resolves when that is done or has failed. Calls that overlap share one run. */
  loadMore(this: void): Promise<void>;
  /** Pull to refresh: loads a new list. Until it is there, the old one is shown. Resolves as `loadMore` does. */
  reset(this: void): Promise<void>;
}
/** With a `key` the list is there again when the component comes back while the same guard is open. */
export interface SeenPagesOptions extends FeedOptions {
  /** How many fresh items a run brings at least, if there are so many. */
  want: number;
  /** How many pages a run fetches at most. @default 5 */
  maxPages?: number;
}
/**
 * A list that loads its own pages: the first ones as soon as the guard is open, more with `loadMore`. What is being
 * fetched is aborted when the last component that shows the list has gone.
 */
export declare function useSeenPages<T, C = string>(
  guard: SeenGuard | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions & { id: IdOf<T> },
): SeenPages<T>;
export declare function useSeenPages<T extends Identified, C = string>(
  guard: SeenGuard | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions,
): SeenPages<T>;

/**
 * A ref for an item's element: records it when it has been in view. A ref that is called with null and the same element
 * again, as inline refs and component libraries do in each rendering, goes on.
 */
export declare function useSeenRef(
  guard: SeenGuard | undefined,
  id: ItemId | readonly ItemId[],
  options?: ObserveOptions,
): (element: object | null) => void;
