/** The entry `seenguard/svelte`: for runes, and an action. */
import { createSubscriber } from "svelte/reactivity";
import type { SeenElement, SeenFeed, SeenPages, SeenPagesOptions, SharedGuardOptions } from "../types/svelte.js";
import type { Feed, FetchPage, IdOf, SeenGuard } from "../types/seenguard.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { withLatest } from "./latest.js";
import { pageListOf, WAITING, type PageList, type PageListState } from "./page-list.js";
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
      feed = wanted[0] && feedOf(wanted[0], key, seen);
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

export function seenPages<T, C>(
  guard: () => SeenGuard | undefined,
  fetchPage: FetchPage<T, C>,
  options: (SeenPagesOptions & { id?: IdOf<T> }) | (() => SeenPagesOptions & { id?: IdOf<T> }),
): SeenPages<T> {
  let made: readonly unknown[] = [];
  let list: PageList<T, C> | undefined;
  let subscribe = () => {};
  const source = () => ({ ...valueOf(options), fetchPage });
  const currentList = () => {
    const { key, seen } = valueOf(options);
    const wanted = [guard(), key, seen] as const;
    if (wanted.some((each, index) => each !== made[index])) {
      made = wanted;
      const current = pageListOf<T, C>(...wanted);
      list = current;
      subscribe = current ? createSubscriber((update) => current.hold(source(), update)) : () => {};
    }
    return list;
  };
  const state = (): PageListState<T> => {
    const current = currentList();
    subscribe();
    return current?.state ?? WAITING;
  };
  return {
    get items() {
      return state().items;
    },
    get loading() {
      return state().loading;
    },
    get error() {
      return state().error;
    },
    get end() {
      return state().end;
    },
    loadMore: async () => currentList()?.loadMore(source()),
    reset: async () => currentList()?.reset(source()),
  };
}

export function seen(element: Element, shown: SeenElement): { update(shown: SeenElement): void; destroy(): void } {
  const tracked = trackElement(element, shown);
  return { update: (next) => tracked.update(next), destroy: () => tracked.release() };
}

function valueOf<T extends object>(source: T | (() => T)): T {
  return typeof source === "function" ? source() : source;
}
