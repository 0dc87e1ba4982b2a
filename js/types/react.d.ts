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
  ObserveItemOptions,
  ObserveOptions,
  ReportOptions,
  SeenGuard,
} from "./seenguard.js";

/**
 * The guard of a namespace, shared by all components that request it. Guards stay open with the document: four at most,
 * then the least recently used one is closed. One that the app closes is opened again while a component is mounted.
 * Wrong options are thrown in the render, for an error boundary.
 */
export declare function useSeenGuard(options: UseSeenGuardOptions | null | undefined): SeenGuardState;

/**
 * The guard, for the other hooks: with `undefined` a list shows nothing, with `null` everything. "signed-out": there is
 * no user yet (no options, or an empty namespace). "opening": also from the render in which the namespace has changed
 * until the new guard is open. "failed": `open` has failed.
 */
export type SeenGuardState =
  | { readonly status: "ready"; readonly guard: SeenGuard }
  | { readonly status: "opening"; readonly guard: undefined }
  | { readonly status: "signed-out" | "failed"; readonly guard: null };

export interface UseSeenGuardOptions extends GuardOptions {
  /**
   * `open` of `seenguard/lazy`, which keeps the route's chunk small, or `SeenGuard.open` of the entry that the app uses.
   * If it rejects with anything but `bad-option`, everything passes, `onError` is called, and the next mount tries
   * again.
   */
  open: (options: GuardOptions) => Promise<SeenGuard>;
}

/**
 * Delivers impressions as `SeenGuard.report` does, from the mount on until the component unmounts or the options are
 * null, which sends nothing more. Options may be written inline: the report begins again only if `url` changes, or
 * `send` is added or removed; other fields are replaced. Wrong options are thrown for an error boundary.
 */
export declare function useReport(guard: SeenGuard | null | undefined, options: ReportOptions | null | undefined): void;

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
   * Appends `want` items or more. Resolves when that has succeeded or failed; before the guard is open at once, since
   * the first items load by themselves. A call during a run returns that run's promise.
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
  options?: ObserveItemOptions,
): (element: object | null) => void;
/** A ref for the element below which items are observed, as `SeenGuard.observe` does. */
export declare function useSeenRoot(
  guard: SeenGuard | null | undefined,
  options?: ObserveOptions,
): (element: object | null) => void;
