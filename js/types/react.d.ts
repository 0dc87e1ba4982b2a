/** `seenguard/react`; its one peer is react, 18 or newer. For StrictMode, Suspense, server rendering. */
import type {
  AnyCursor,
  FeedOptions,
  FetchPage,
  FillOptions,
  GuardOptions,
  Identified,
  IdOf,
  ItemId,
  ObserveOptions,
  ReportOptions,
  SeenGuard,
} from "./seenguard.js";

/**
 * The guard of a namespace, shared by all components that request it. Guards stay open with the document: four at most,
 * then the least recently used one is closed. `undefined` until the guard is open; after a change of the namespace,
 * from that render until the new guard is open. `null`, with which a feed shows everything, if there is no user yet (no
 * options, or an empty namespace) or `open` fails. Wrong options are thrown in the render, for an error boundary.
 */
export declare function useSeenGuard(options: UseSeenGuardOptions | null | undefined): SeenGuard | null | undefined;

export interface UseSeenGuardOptions extends GuardOptions {
  /**
   * `SeenGuard.open` of the entry that the app uses, best loaded on demand to keep the route's chunk small: `(options)
   * => import("seenguard").then(({ SeenGuard }) => SeenGuard.open(options))`. If it rejects with anything but
   * `bad-option`, everything passes, `onError` is called, and the next mount tries again.
   */
  open: (options: GuardOptions) => Promise<SeenGuard>;
  /** Delivers as long as a component holds the guard; the rest is delivered when the last one unmounts. */
  report?: ReportOptions;
}

export interface SeenFeed<T> {
  /**
   * The list to render; the same array for the same items. Empty until the guard is open, so that no seen item flashes.
   */
  items: T[];
  /** Pull to refresh. */
  reset(this: void): void;
}
export interface SeenFeedOptions extends FeedOptions {
  /**
   * For server-rendered lists: the items of the first render pass and stay, so that hydration matches; later items are
   * filtered.
   * @default false
   */
  ssr?: boolean;
}
/** The items of a list to show, as a `Feed` of the guard decides: each id once. */
export declare function useSeenFeed<T extends Identified>(
  guard: SeenGuard | null | undefined,
  items: readonly T[],
  options?: SeenFeedOptions,
): SeenFeed<T>;
export declare function useSeenFeed<T>(
  guard: SeenGuard | null | undefined,
  items: readonly T[],
  options: SeenFeedOptions & { id: IdOf<T> },
): SeenFeed<T>;

/** A list that loads its own pages, by `Feed.fill`. */
export interface SeenPages<T> {
  /** The list to render; the same array for the same items. */
  items: T[];
  /** Pages are being fetched, or the guard is not open yet. */
  loading: boolean;
  /** The error of the latest run, also for wrong options; `loadMore` tries again. */
  error: unknown;
  /** The source has ended, until `reset`. */
  done: boolean;
  /**
   * Appends `want` items or more, as soon as the guard is open. Resolves when that has succeeded or failed. A call
   * during a run returns that run's promise.
   */
  loadMore(this: void): Promise<void>;
  /** Pull to refresh: loads a new list, and shows the old one until it is there. Resolves as `loadMore` does. */
  reset(this: void): Promise<void>;
}
/** With a `key` the list is restored when the component mounts again while the same guard is open. */
export interface SeenPagesOptions extends FeedOptions, Pick<FillOptions, "maxPages" | "timeoutMs"> {
  /** The least number of fresh items that `loadMore` appends, if the source has as many. */
  want: number;
}
/**
 * A list that loads its own pages: the first ones as soon as the guard is open, more with `loadMore`. The fetch in
 * progress is aborted when the last component that shows the list unmounts, and restarted when one mounts again.
 */
export declare function useSeenPages<T, C = AnyCursor>(
  guard: SeenGuard | null | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions & { id: IdOf<T> },
): SeenPages<T>;
export declare function useSeenPages<T extends Identified, C = AnyCursor>(
  guard: SeenGuard | null | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions,
): SeenPages<T>;

/**
 * A ref for an item's element: records the item when it has been in view. A ref that is called with null and then the
 * same element, as inline refs and component libraries do in each render, continues.
 */
export declare function useSeenRef(
  guard: SeenGuard | null | undefined,
  id: ItemId | readonly ItemId[],
  options?: ObserveOptions,
): (element: object | null) => void;
