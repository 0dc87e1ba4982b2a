/** `seenguard/react`; its one peer is react, 18 or newer. For StrictMode, Suspense, server rendering. */
import type {
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
 * The guard of a namespace, shared by all that ask for it: it stays open with the document, four at most, the one unused
 * longest is closed. `undefined` until it is open, and from the very render in which the namespace changes until that
 * one's is; `null`, with which a feed shows everything, where there is no user yet (no options, or an empty namespace)
 * and where `open` fails. Wrong options are thrown in the render, for an error boundary.
 */
export declare function useSeenGuard(options: UseSeenGuardOptions | null | undefined): SeenGuard | null | undefined;

export interface UseSeenGuardOptions extends GuardOptions {
  /**
   * `SeenGuard.open` of the entry that the app uses, best loaded on demand, so that a route's chunk stays small: `(options)
   * => import("seenguard").then(({ SeenGuard }) => SeenGuard.open(options))`. Where it rejects with anything but
   * `bad-option`, everything passes, `onError` is told, and it is tried again at the next mount.
   */
  open: (options: GuardOptions) => Promise<SeenGuard>;
  /** Delivers as long as a component holds the guard; what waits goes out when the last one leaves. */
  report?: ReportOptions;
}

export interface SeenFeed<T> {
  /** The list to render. Same items, same array. Empty until the guard is open, so that no seen item flashes up. */
  items: T[];
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
  /** The list to render. Same items, same array. */
  items: T[];
  /** Pages are being fetched, or will be as soon as the guard is open. */
  loading: boolean;
  /** What the latest run failed with; `loadMore` tries again. Wrong options, too. */
  error: unknown;
  /** Nothing more will come, until `reset`. */
  done: boolean;
  /**
   * Appends `want` items or more, as soon as the guard is open. Resolves when that is done or has failed; while one is
   * under way, it is that one.
   */
  loadMore(this: void): Promise<void>;
  /** Pull to refresh: loads a new list. Until it is there, the old one is shown. Resolves as `loadMore` does. */
  reset(this: void): Promise<void>;
}
/** With a `key` the list is there again when the component comes back while the same guard is open. */
export interface SeenPagesOptions extends FeedOptions, Pick<FillOptions, "maxPages" | "timeoutMs"> {
  /** How many fresh items `loadMore` brings at least, if there are so many. */
  want: number;
}
/**
 * A list that loads its own pages: the first ones as soon as the guard is open, more with `loadMore`. What is being
 * fetched is aborted when the last component that shows the list has gone, and begun again when one comes back.
 */
export declare function useSeenPages<T, C = string>(
  guard: SeenGuard | null | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions & { id: IdOf<T> },
): SeenPages<T>;
export declare function useSeenPages<T extends Identified, C = string>(
  guard: SeenGuard | null | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions,
): SeenPages<T>;

/**
 * A ref for an item's element: records it when it has been in view. A ref that is called with null and the same element
 * again, as inline refs and component libraries do in each rendering, goes on.
 */
export declare function useSeenRef(
  guard: SeenGuard | null | undefined,
  id: ItemId | readonly ItemId[],
  options?: ObserveOptions,
): (element: object | null) => void;
