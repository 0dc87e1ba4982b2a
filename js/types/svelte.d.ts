/** `seenguard/svelte`; its one peer is svelte, 5.7 or newer. For runes, and for server rendering. */
import type { Action } from "svelte/action";
import type { SeenFeed, SeenFeedOptions, SeenPages, SeenPagesOptions, SharedGuardOptions } from "./react.js";
import type { FetchPage, Identified, IdOf, SeenElement, SeenGuard } from "./seenguard.js";

export type { SeenElement, SeenFeed, SeenFeedOptions, SeenPages, SeenPagesOptions, SharedGuardOptions };

/**
 * The guard of a namespace as `current`, for markup, effects and deriveds: shared by all that read it there, and closed
 * when the last one has gone; `undefined` until it is open, and as soon as the namespace changes until that one's is.
 * Wrong options are thrown where it is read, for a boundary.
 */
export declare function seenGuard(options: SharedGuardOptions | (() => SharedGuardOptions)): {
  readonly current: SeenGuard | undefined;
};

/** The items of a list that are to be shown, as a `Feed` of the guard decides them: each id once. */
export declare function seenFeed<T extends Identified>(
  guard: () => SeenGuard | undefined,
  items: () => readonly T[],
  options?: SeenFeedOptions | (() => SeenFeedOptions),
): SeenFeed<T>;
export declare function seenFeed<T>(
  guard: () => SeenGuard | undefined,
  items: () => readonly T[],
  options: (SeenFeedOptions & { id: IdOf<T> }) | (() => SeenFeedOptions & { id: IdOf<T> }),
): SeenFeed<T>;

/**
 * A list that loads its own pages: the first ones as soon as it is read while the guard is open, more with `loadMore`.
 * What is being fetched is aborted when nothing reads the list any more.
 */
export declare function seenPages<T, C = string>(
  guard: () => SeenGuard | undefined,
  fetchPage: FetchPage<T, C>,
  options: (SeenPagesOptions & { id: IdOf<T> }) | (() => SeenPagesOptions & { id: IdOf<T> }),
): SeenPages<T>;
export declare function seenPages<T extends Identified, C = string>(
  guard: () => SeenGuard | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions | (() => SeenPagesOptions),
): SeenPages<T>;

/** An action, `use:seen={{ guard, id }}`: records the element's item when it has been in view. */
export declare const seen: Action<Element, SeenElement>;
