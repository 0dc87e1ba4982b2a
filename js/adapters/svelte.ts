/** The entry `seenguard/svelte`: for runes, and an action. */
import { createSubscriber } from "svelte/reactivity";
import type { SeenElement, SeenFeed, SeenPages, UseSeenGuardOptions } from "../types/svelte.js";
import type { FetchPage, SeenGuard } from "../types/seenguard.js";
import { changesOf } from "./changes.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { pageListOf, Pages, WAITING, type PageListState, type PageSource } from "./page-list.js";
import { guardOf, holdGuard, identityOf } from "./shared-guards.js";
import { trackElement } from "./tracked-element.js";

type Guard = SeenGuard | null | undefined;
type GuardOptions = UseSeenGuardOptions | null | undefined;

export function seenGuard(options: GuardOptions | (() => GuardOptions)): { readonly current: Guard } {
  const subscriber = once((_identity: string) =>
    createSubscriber((update) => holdGuard(() => valueOf(options), update)),
  );
  return {
    get current() {
      const wanted = valueOf(options);
      subscriber(identityOf(wanted))();
      return guardOf(wanted?.namespace);
    },
  };
}

export function seenFeed<T>(
  guard: () => Guard,
  items: () => readonly T[],
  options: FeedViewOptions<T> | (() => FeedViewOptions<T>) = {},
): SeenFeed<T> {
  const view = new FeedView<T>();
  const feedFor = once(feedOf);
  const feed = () => feedFor(guard(), valueOf(options).key);
  let update = () => {};
  const subscriber = once((current: Guard) =>
    createSubscriber((onChange) => {
      update = onChange;
      return changesOf(current).subscribe(onChange);
    }),
  );
  return {
    get items() {
      subscriber(guard())();
      return view.show(feed(), items(), valueOf(options));
    },
    reset() {
      view.reset(feed());
      update();
    },
  };
}

export function seenPages<T, C>(
  guard: () => Guard,
  fetchPage: FetchPage<T, C>,
  options: Omit<PageSource<T, C>, "fetchPage"> | (() => Omit<PageSource<T, C>, "fetchPage">),
): SeenPages<T> {
  const pages = new Pages<T, C>(() => ({ ...valueOf(options), fetchPage }));
  const listFor = once(pageListOf<T, C>);
  const subscriber = once((list: ReturnType<typeof listFor>) => createSubscriber((update) => pages.hold(list, update)));
  const state = (): PageListState<T> => {
    const list = listFor(guard(), valueOf(options).key);
    subscriber(list)();
    return list?.state ?? WAITING;
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
    get done() {
      return state().done;
    },
    loadMore: pages.loadMore,
    reset: pages.reset,
  };
}

export function seen(element: Element, shown: SeenElement): { update(shown: SeenElement): void; destroy(): void } {
  const tracked = trackElement(element, shown);
  return { update: (next) => tracked.update(next), destroy: () => tracked.release() };
}

/** Calls `make` again only for other arguments. */
function once<Given extends unknown[], T>(make: (...given: Given) => T): (...given: Given) => T {
  let made: { readonly given: Given; readonly value: T } | undefined;
  return (...given) => {
    if (!made || given.some((each, place) => each !== made?.given[place])) made = { given, value: make(...given) };
    return made.value;
  };
}

function valueOf<T>(source: T | (() => T)): T {
  return typeof source === "function" ? (source as () => T)() : source;
}
