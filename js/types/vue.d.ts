/** `seenguard/vue`; its one peer is vue, 3.4 or newer. For server rendering, too. */
import type { ComputedRef, MaybeRefOrGetter, ObjectDirective } from "vue";
import type { SeenFeedOptions, SeenPagesOptions, SharedGuardOptions } from "./react.js";
import type { FetchPage, Identified, IdOf, SeenElement, SeenGuard } from "./seenguard.js";

export type { SeenElement, SeenFeedOptions, SeenPagesOptions, SharedGuardOptions };

/**
 * The guard of a namespace, shared by all that ask for it and closed when the last one has gone; `undefined` until it
 * is open, and as soon as the namespace changes until that one's is. Wrong options are thrown where it is read, for
 * `onErrorCaptured`.
 */
export declare function useSeenGuard(options: MaybeRefOrGetter<SharedGuardOptions>): ComputedRef<SeenGuard | undefined>;

export interface SeenFeed<T> {
  /** The list to render. Same items, same array. Empty until the guard is open, so that no seen item flashes up. */
  items: ComputedRef<readonly T[]>;
  /** Pull to refresh. */
  reset(this: void): void;
}
/** The items of a list that are to be shown, as a `Feed` of the guard decides them: each id once. */
export declare function useSeenFeed<T extends Identified>(
  guard: MaybeRefOrGetter<SeenGuard | undefined>,
  items: MaybeRefOrGetter<readonly T[]>,
  options?: MaybeRefOrGetter<SeenFeedOptions>,
): SeenFeed<T>;
export declare function useSeenFeed<T>(
  guard: MaybeRefOrGetter<SeenGuard | undefined>,
  items: MaybeRefOrGetter<readonly T[]>,
  options: MaybeRefOrGetter<SeenFeedOptions & { id: IdOf<T> }>,
): SeenFeed<T>;

/** A list that loads its own pages, by `Feed.fill`. */
export interface SeenPages<T> {
  /** The list to render. Same items, same array. */
  items: ComputedRef<readonly T[]>;
  /** Pages are being fetched, or will be as soon as the guard is open. */
  loading: ComputedRef<boolean>;
  /** What the latest run failed with; `loadMore` tries again. Wrong options, too. */
  error: ComputedRef<unknown>;
  /** Nothing more will come, until `reset`. */
  end: ComputedRef<boolean>;
  /** Appends `want` items or more. Resolves when that is done or has failed. Calls that overlap share one run. */
  loadMore(this: void): Promise<void>;
  /** Pull to refresh: loads a new list. Until it is there, the old one is shown. Resolves as `loadMore` does. */
  reset(this: void): Promise<void>;
}
/**
 * A list that loads its own pages: the first ones as soon as the guard is open, more with `loadMore`. What is being
 * fetched is aborted when the last component that shows the list has gone.
 */
export declare function useSeenPages<T, C = string>(
  guard: MaybeRefOrGetter<SeenGuard | undefined>,
  fetchPage: FetchPage<T, C>,
  options: MaybeRefOrGetter<SeenPagesOptions & { id: IdOf<T> }>,
): SeenPages<T>;
export declare function useSeenPages<T extends Identified, C = string>(
  guard: MaybeRefOrGetter<SeenGuard | undefined>,
  fetchPage: FetchPage<T, C>,
  options: MaybeRefOrGetter<SeenPagesOptions>,
): SeenPages<T>;

/** A directive, `v-seen="{ guard, id }"`: records the element's item when it has been in view. */
export declare const vSeen: ObjectDirective<Element, SeenElement>;
