/** `seenguard/svelte`; its one peer is svelte, 5.7 or newer. For runes, and for server rendering. */
import type { Action } from "svelte/action";
import type {
  SeenFeed,
  SeenFeedOptions,
  SeenGuardState,
  SeenPages,
  SeenPagesOptions,
  UseSeenGuardOptions,
} from "./react.js";
import type { AnyCursor, FetchPage, Identified, IdOf, SeenElement, SeenGuard, SeenRoot } from "./seenguard.js";

export type { SeenElement, SeenFeed, SeenFeedOptions, SeenGuardState, SeenPages, SeenPagesOptions, SeenRoot };
export type { UseSeenGuardOptions };

/**
 * The guard of a namespace, for markup, effects and deriveds, shared by all components that read it there. Guards stay
 * open with the document: four at most, then the least recently used one is closed. One that the app closes is opened
 * again while something reads it. `guard` is for the other functions: with `undefined` a list shows nothing, with `null`
 * everything. `status`: "signed-out" if there is no user yet (no options, or an empty namespace); "opening", also
 * after a change of the namespace until the new guard is open; "ready"; "failed" if `open` has failed. Wrong options are
 * thrown where it is read, for a boundary. A report is an effect: `$effect(() => home.guard?.report({ url }))`.
 */
export declare function seenGuard(
  options: UseSeenGuardOptions | null | undefined | (() => UseSeenGuardOptions | null | undefined),
): {
  readonly guard: SeenGuard | null | undefined;
  readonly status: SeenGuardState["status"];
};

/** The items of a list to show, as a `Feed` of the guard decides: each id once. */
export declare function seenFeed<T extends Identified>(
  guard: () => SeenGuard | null | undefined,
  items: () => readonly T[],
  options?: SeenFeedOptions | (() => SeenFeedOptions),
): SeenFeed<T>;
export declare function seenFeed<T>(
  guard: () => SeenGuard | null | undefined,
  items: () => readonly T[],
  options: (SeenFeedOptions & { id: IdOf<T> }) | (() => SeenFeedOptions & { id: IdOf<T> }),
): SeenFeed<T>;

/**
 * A list that loads its own pages: the first ones as soon as it is read while the guard is open, more with `loadMore`.
 * The fetch in progress is aborted when nothing reads the list any more, and restarted when something does.
 */
export declare function seenPages<T, C = AnyCursor>(
  guard: () => SeenGuard | null | undefined,
  fetchPage: FetchPage<T, C>,
  options: (SeenPagesOptions & { id: IdOf<T> }) | (() => SeenPagesOptions & { id: IdOf<T> }),
): SeenPages<T>;
export declare function seenPages<T extends Identified, C = AnyCursor>(
  guard: () => SeenGuard | null | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions | (() => SeenPagesOptions),
): SeenPages<T>;

/** An action, `use:seen={{ guard, id }}`: records the element's item when it has been in view. */
export declare const seen: Action<Element, SeenElement>;
/** An action, `use:seenRoot={{ guard }}`: items below the element are observed, as by `SeenGuard.observe`. */
export declare const seenRoot: Action<Element, SeenRoot>;
