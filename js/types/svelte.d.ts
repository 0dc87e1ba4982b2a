/** `seenguard/svelte`; its one peer is svelte, 5.7 or newer. For runes, and for server rendering. */
import type { Action } from "svelte/action";
import type { SeenFeed, SeenFeedOptions, SeenPages, SeenPagesOptions, UseSeenGuardOptions } from "./react.js";
import type { AnyCursor, FetchPage, Identified, IdOf, SeenElement, SeenGuard } from "./seenguard.js";

export type { SeenElement, SeenFeed, SeenFeedOptions, SeenPages, SeenPagesOptions, UseSeenGuardOptions };

/**
 * The guard of a namespace as `current`, for markup, effects and deriveds, shared by all components that read it there.
 * Guards stay open with the document: four at most, then the least recently used one is closed. `undefined` until the
 * guard is open, and after a change of the namespace until the new one is open; `null`, with which a feed shows
 * everything, if there is no user yet (no options, or an empty namespace) or `open` fails. Wrong options are thrown
 * where it is read, for a boundary.
 */
export declare function seenGuard(
  options: UseSeenGuardOptions | null | undefined | (() => UseSeenGuardOptions | null | undefined),
): {
  readonly current: SeenGuard | null | undefined;
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
