/** `seenguard/vue`; its one peer is vue, 3.4 or newer. For server rendering, too. */
import type { ComputedRef, MaybeRefOrGetter, ObjectDirective } from "vue";
import type { SeenFeedOptions, SeenPagesOptions, UseSeenGuardOptions } from "./react.js";
import type { FetchPage, Identified, IdOf, SeenElement, SeenGuard } from "./seenguard.js";

export type { SeenElement, SeenFeedOptions, SeenPagesOptions, UseSeenGuardOptions };

/**
 * The guard of a namespace, shared by all that ask for it: it stays open with the document, four at most, the one unused
 * longest is closed. `undefined` until it is open, and as soon as the namespace changes until that one's is; `null`,
 * with which a feed shows everything, where there is no user yet (no options, or an empty namespace) and where `open`
 * fails. Wrong options are thrown where it is read, for `onErrorCaptured`.
 */
export declare function useSeenGuard(
  options: MaybeRefOrGetter<UseSeenGuardOptions | null | undefined>,
): ComputedRef<SeenGuard | null | undefined>;

export interface SeenFeed<T> {
  /** The list to render. Same items, same array. Empty until the guard is open, so that no seen item flashes up. */
  items: ComputedRef<T[]>;
  /** Pull to refresh. */
  reset(this: void): void;
}
/** The items of a list that are to be shown, as a `Feed` of the guard decides them: each id once. */
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
  /** The list to render. Same items, same array. */
  items: ComputedRef<T[]>;
  /** Pages are being fetched, or will be as soon as the guard is open. */
  loading: ComputedRef<boolean>;
  /** What the latest run failed with; `loadMore` tries again. Wrong options, too. */
  error: ComputedRef<unknown>;
  /** Nothing more will come, until `reset`. */
  done: ComputedRef<boolean>;
  /**
   * Appends `want` items or more, as soon as the guard is open. Resolves when that is done or has failed; while one is
   * under way, it is that one.
   */
  loadMore(this: void): Promise<void>;
  /** Pull to refresh: loads a new list. Until it is there, the old one is shown. Resolves as `loadMore` does. */
  reset(this: void): Promise<void>;
}
/**
 * A list that loads its own pages: the first ones as soon as the guard is open, more with `loadMore`. What is being
 * fetched is aborted when the last component that shows the list has gone, and begun again when one comes back.
 */
export declare function useSeenPages<T, C = string>(
  guard: MaybeRefOrGetter<SeenGuard | null | undefined>,
  fetchPage: FetchPage<T, C>,
  options: MaybeRefOrGetter<SeenPagesOptions & { id: IdOf<T> }>,
): SeenPages<T>;
export declare function useSeenPages<T extends Identified, C = string>(
  guard: MaybeRefOrGetter<SeenGuard | null | undefined>,
  fetchPage: FetchPage<T, C>,
  options: MaybeRefOrGetter<SeenPagesOptions>,
): SeenPages<T>;

/** A directive, `v-seen="{ guard, id }"`: records the element's item when it has been in view. */
export declare const vSeen: ObjectDirective<Element, SeenElement>;
