/** The entry `seenguard/svelte`: for runes, and actions. */
import { createSubscriber } from "svelte/reactivity";
import type { SeenFeed, SeenGuardState, SeenPages, UseSeenGuardOptions } from "../types/svelte.js";
import type { FetchPage, SeenElement, SeenGuard, SeenRoot } from "../types/seenguard.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { once } from "./latest.js";
import { pageListOf, PageListCalls, WAITING, type PageListState, type PageOptions } from "./page-list.js";
import { holdGuard, stateOf } from "./shared-guard.js";
import { trackItem, trackRoot, type Track } from "./tracked-element.js";

type Guard = SeenGuard | null | undefined;
type Source<T> = T | (() => T);

export function seenGuard(options: Source<UseSeenGuardOptions | null | undefined>) {
  const subscriber = once((_namespace: string | undefined) =>
    createSubscriber((update) => holdGuard(() => valueOf(options), update)),
  );
  const state = (): SeenGuardState => {
    const namespace = valueOf(options)?.namespace;
    subscriber(namespace)();
    return stateOf(namespace);
  };
  return readable(state, ["guard", "status"]);
}

export function seenFeed<T>(
  guard: () => Guard,
  items: () => readonly T[],
  options: Source<FeedViewOptions<T>> = {},
): SeenFeed<T> {
  const view = new FeedView<T>();
  const feedFor = once(feedOf);
  const feed = () => feedFor(guard(), valueOf(options).key);
  const subscriber = once((current: Guard) => createSubscriber((update) => view.subscribe(current, update)));
  const shown = () => {
    subscriber(guard())();
    return { items: view.show(feed(), items(), valueOf(options)) };
  };
  return readable(shown, ["items"], { reset: () => view.reset(feed()) });
}

export function seenPages<T, C>(
  guard: () => Guard,
  fetchPage: FetchPage<T, C>,
  options: Source<PageOptions<T>>,
): SeenPages<T> {
  const { loadMore, reset, hold } = new PageListCalls<T, C>(() => ({ ...valueOf(options), fetchPage }));
  const listFor = once(pageListOf<T, C>);
  const subscriber = once((list: ReturnType<typeof listFor>) => createSubscriber((update) => hold(list, update)));
  const state = (): PageListState<T> => {
    const list = listFor(guard(), valueOf(options).key);
    subscriber(list)();
    return list?.state ?? WAITING;
  };
  return readable(state, ["items", "loading", "error", "done"], { loadMore, reset });
}

export const seen = actionOf(trackItem);
export const seenRoot = actionOf(trackRoot);

function actionOf<Shown extends SeenElement | SeenRoot>(track: Track<Shown>) {
  return (element: Element, shown: Shown) => {
    const tracked = track(element, shown);
    return { update: (next: Shown) => tracked.update(next), destroy: () => tracked.release() };
  };
}

/** An object whose getters read the state, so that markup and effects follow it. */
function readable<State extends object, Name extends keyof State, Methods extends object>(
  read: () => State,
  names: readonly Name[],
  methods = {} as Methods,
): Pick<State, Name> & Methods {
  for (const name of names) Object.defineProperty(methods, name, { get: () => read()[name], enumerable: true });
  return methods as Pick<State, Name> & Methods;
}

function valueOf<T>(source: Source<T>): T {
  return typeof source === "function" ? (source as () => T)() : source;
}
