/** `seenguard/vue`; its one peer is vue, 3.4 or newer. For server rendering, too. */
import type { ComputedRef, MaybeRefOrGetter, ObjectDirective } from "vue";
import type { SeenFeedOptions, SeenPagesOptions, UseSeenGuardOptions } from "./react.js";
import type { AnyCursor, FetchPage, Identified, IdOf, SeenElement, SeenGuard } from "./seenguard.js";

export type { SeenElement, SeenFeedOptions, SeenPagesOptions, UseSeenGuardOptions };

/**
 * The guard of a namespace, shared by all components that request it. Guards stay open with the document: four at most,
 * then the least recently used one is closed. `undefined` until the guard is open, and after a change of the namespace
 * until the new one is open; `null`, with which a feed shows everything, if there is no user yet (no options, or an
 * empty namespace) or `open` fails. Wrong options are thrown where it is read, for `onErrorCaptured`.
 */
export declare function useSeenGuard(
  options: MaybeRefOrGetter<UseSeenGuardOptions | null | undefined>,
): ComputedRef<SeenGuard | null | undefined>;

export interface SeenFeed<T> {
  /**
   * The list to render; the same array for the same items. Empty until the guard is open, so that no seen item flashes.
   */
  items: ComputedRef<T[]>;
  /** Pull to refresh. */
  reset(this: void): void;
}
/** The items of a list to show, as a `Feed` of the guard decides: each id once. */
export declare function useSeenFeed<T extends Identified>(
  guard: MaybeRefOrGetter<SeenGuard | null | undefined>,
  items: MaybeRefOrGetter<readonly T[]>,
  options?: MaybeRefOrGetter<SeenFeedOptions>,
): SeenFeed<T>;
export declare function useSeenFeed<T>(
  guard: MaybeRefOrGetter<SeenGuard | null | undefined>,
  items: MaybeRefOrGetter<readonly T[]>,
  options: MaybeRefOrGetter<SeenFeedOptions & { id: IdOf<T> }>,
): SeenFeed<T>;

/** A list that loads its own pages, by `Feed.fill`. */
export interface SeenPages<T> {
  /** The list to render; the same array for the same items. */
  items: ComputedRef<T[]>;
  /** Pages are being fetched, or the guard is not open yet. */
  loading: ComputedRef<boolean>;
  /** The error of the latest run, also for wrong options; `loadMore` tries again. */
  error: ComputedRef<unknown>;
  /** The source has ended, until `reset`. */
  done: ComputedRef<boolean>;
  /**
   * Appends `want` items or more, as soon as the guard is open. Resolves when that has succeeded or failed. A call
   * during a run returns that run's promise.
   */
  loadMore(this: void): Promise<void>;
  /** Pull to refresh: loads a new list, and shows the old one until it is there. Resolves as `loadMore` does. */
  reset(this: void): Promise<void>;
}
/**
 * A list that loads its own pages: the first ones as soon as the guard is open, more with `loadMore`. The fetch in
 * progress is aborted when the last component that shows the list unmounts, and restarted when one mounts again.
 */
export declare function useSeenPages<T, C = AnyCursor>(
  guard: MaybeRefOrGetter<SeenGuard | null | undefined>,
  fetchPage: FetchPage<T, C>,
  options: MaybeRefOrGetter<SeenPagesOptions & { id: IdOf<T> }>,
): SeenPages<T>;
export declare function useSeenPages<T extends Identified, C = AnyCursor>(
  guard: MaybeRefOrGetter<SeenGuard | null | undefined>,
  fetchPage: FetchPage<T, C>,
  options: MaybeRefOrGetter<SeenPagesOptions>,
): SeenPages<T>;

/** A directive, `v-seen="{ guard, id }"`: records the element's item when it has been in view. */
export declare const vSeen: ObjectDirective<Element, SeenElement>;
