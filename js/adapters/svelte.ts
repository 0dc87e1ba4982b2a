/** The entry `seenguard/svelte`: for runes, and an action. */
import { createSubscriber } from "svelte/reactivity";
import type { SeenElement, SeenFeed, SharedGuardOptions } from "../types/svelte.js";
import type { Feed, SeenGuard } from "../types/seenguard.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { withLatest } from "./latest.js";
import { holdGuard, openGuard } from "./shared-guards.js";
import { trackElement } from "./tracked-element.js";

export function seenGuard(options: SharedGuardOptions | (() => SharedGuardOptions)): {
  readonly current: SeenGuard | undefined;
} {
  let namespace: string | undefined;
  let subscribe = () => {};
  return {
    get current() {
      const { namespace: wanted } = valueOf(options);
      if (wanted !== namespace) {
        namespace = wanted;
        subscribe = createSubscriber((update) =>
          holdGuard(
            withLatest(() => valueOf(options)),
            update,
          ),
        );
      }
      subscribe();
      return openGuard(wanted);
    },
  };
}

export function seenFeed<T>(
  guard: () => SeenGuard | undefined,
  items: () => readonly T[],
  options: FeedViewOptions<T> | (() => FeedViewOptions<T>) = {},
): SeenFeed<T> {
  const view = new FeedView<T>();
  let made: readonly unknown[] = [];
  let feed: Feed | undefined;
  const currentFeed = () => {
    const { key, seen } = valueOf(options);
    const wanted = [guard(), key, seen] as const;
    if (wanted.some((each, index) => each !== made[index])) {
      made = wanted;
      feed = feedOf(...wanted);
    }
    return feed;
  };
  let update = () => {};
  const subscribe = createSubscriber((onReset) => {
    update = onReset;
  });
  return {
    get items() {
      subscribe();
      return view.show(currentFeed(), items(), valueOf(options));
    },
    reset() {
      view.reset(currentFeed());
      update();
    },
  };
}

export function seen(element: Element, shown: SeenElement): { update(shown: SeenElement): void; destroy(): void } {
  const tracked = trackElement(element, shown);
  return { update: (next) => tracked.update(next), destroy: () => tracked.release() };
}

function valueOf<T extends object>(source: T | (() => T)): T {
  return typeof source === "function" ? source() : source;
}
