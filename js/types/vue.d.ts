/** `seenguard/vue`; its one peer is vue, 3.4 or newer. For server rendering, too. */
import type { ComputedRef, MaybeRefOrGetter, ObjectDirective } from "vue";
import type { SeenFeedOptions, SeenGuardState, SeenPagesOptions, UseSeenGuardOptions } from "./react.js";
import type {
  AnyCursor,
  FetchPage,
  Identified,
  IdOf,
  ReportOptions,
  SeenElement,
  SeenGuard,
  SeenRoot,
} from "./seenguard.js";

export type { SeenElement, SeenFeedOptions, SeenGuardState, SeenPagesOptions, SeenRoot, UseSeenGuardOptions };

/**
 * The guard of a namespace, shared by all components that request it. Guards stay open with the document: four at most,
 * then the least recently used one is closed. One that the app closes is opened again while a component is mounted.
 * Wrong options are thrown where the result is read, for `onErrorCaptured`.
 */
export declare function useSeenGuard(options: MaybeRefOrGetter<UseSeenGuardOptions | null | undefined>): UseSeenGuard;

/**
 * `guard` is for the other composables: with `undefined` a list shows nothing, with `null` everything. `status`:
 * "signed-out" if there is no user yet (no options, or an empty namespace); "opening", also after a change of the
 * namespace until the new guard is open; "ready"; "failed" if `open` has failed.
 */
export interface UseSeenGuard {
  guard: ComputedRef<SeenGuard | null | undefined>;
  status: ComputedRef<SeenGuardState["status"]>;
}

/**
 * Delivers impressions as `SeenGuard.report` does, until its scope ends or the options are null, which sends nothing
 * more. The report begins again only if `url` changes, or `send` is added or removed; other fields are replaced.
 */
export declare function useReport(
  guard: MaybeRefOrGetter<SeenGuard | null | undefined>,
  options: MaybeRefOrGetter<ReportOptions | null | undefined>,
): void;

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
   * Appends `want` items or more. Resolves when that has succeeded or failed; before the guard is open at once, since
   * the first items load by themselves. A call during a run returns that run's promise.
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
/** A directive, `v-seen-root="{ guard }"`: items below the element are observed, as by `SeenGuard.observe`. */
export declare const vSeenRoot: ObjectDirective<Element, SeenRoot>;
