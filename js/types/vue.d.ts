/** `seenguard/vue`; its one peer is vue, 3.4 or newer. For server rendering, too. */
import type { ComputedRef, MaybeRefOrGetter, ObjectDirective } from "vue";
import type { SeenFeedOptions, SharedGuardOptions } from "./react.js";
import type { Identified, IdOf, SeenGuard } from "./seenguard.js";
import type { SeenElement } from "./svelte.js";

export type { SeenElement, SeenFeedOptions, SharedGuardOptions };

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

/** A directive, `v-seen="{ guard, id }"`: records the element's item when it has been in view. */
export declare const vSeen: ObjectDirective<Element, SeenElement>;
