"use client";
/** The entry `seenguard/react`: hooks. */
import { useCallback, useEffect, useMemo, useReducer, useRef, useState, useSyncExternalStore } from "react";
import type { SeenFeed, SeenPages, UseSeenGuardOptions } from "../types/react.js";
import type { FetchPage, ItemId, ObserveOptions, SeenGuard } from "../types/seenguard.js";
import { changesOf } from "./changes.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { idsKey } from "./latest.js";
import { pageListOf, Pages, WAITING, type PageListState, type PageSource } from "./page-list.js";
import { guardOf, holdGuard, identityOf } from "./shared-guards.js";
import { trackElement, type TrackedElement } from "./tracked-element.js";

type Guard = SeenGuard | null | undefined;

export function useSeenGuard(options: UseSeenGuardOptions | null | undefined): Guard {
  const namespace = options?.namespace;
  const identity = identityOf(options);
  const latest = useLatest(options);
  const subscribe = useCallback(
    (onChange: () => void) => holdGuard(() => latest.current, onChange),
    // Options are recreated in each rendering.
    [latest, identity],
  );
  return useSyncExternalStore(
    subscribe,
    () => guardOf(namespace),
    () => (namespace ? undefined : null),
  );
}

export function useSeenFeed<T>(guard: Guard, items: readonly T[], options: FeedViewOptions<T> = {}): SeenFeed<T> {
  const { key } = options;
  const feed = useMade((made, wanted) => feedOf(made, wanted), guard, key);
  const [view] = useState(() => new FeedView<T>());
  const changes = changesOf(guard);
  useSyncExternalStore(
    changes.subscribe,
    () => changes.count,
    () => 0,
  );
  const [, render] = useReducer((count: number) => count + 1, 0);
  const reset = useCallback(() => {
    view.reset(feed);
    render();
  }, [view, feed]);
  return { items: view.show(feed, items, options), reset };
}

export function useSeenPages<T, C>(
  guard: Guard,
  fetchPage: FetchPage<T, C>,
  options: Omit<PageSource<T, C>, "fetchPage">,
): SeenPages<T> {
  const latest = useLatest({ ...options, fetchPage });
  const list = useMade(pageListOf<T, C>, guard, options.key);
  const [pages] = useState(() => new Pages<T, C>(() => latest.current));
  const subscribe = useCallback((onChange: () => void) => pages.hold(list, onChange), [pages, list]);
  const state = useSyncExternalStore<PageListState<T>>(
    subscribe,
    () => list?.state ?? WAITING,
    () => WAITING,
  );
  return { ...state, loadMore: pages.loadMore, reset: pages.reset };
}

export function useSeenRef(
  guard: Guard,
  id: ItemId | readonly ItemId[],
  options: ObserveOptions = {},
): (element: object | null) => void {
  const shown = { ...options, guard, id };
  const latest = useLatest(shown);
  const tracked = useRef<TrackedElement>(undefined);
  useEffect(() => tracked.current?.update(shown));
  const { threshold, dwellMs, local } = options;
  const ids = idsKey(id);
  return useMemo(
    () => (element: object | null) => {
      tracked.current?.release();
      tracked.current = element ? trackElement(element as Element, { ...latest.current, guard, id }) : undefined;
    },
    [guard, ids, threshold, dwellMs, local, latest],
  );
}

/** The value of the latest rendering, whose callbacks are called. */
function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}

/** A value created for a guard and a key. It is state, since Fast Refresh recreates values of `useMemo`. */
function useMade<T>(make: (guard: Guard, key: string | undefined) => T, guard: Guard, key: string | undefined): T {
  const [made, setMade] = useState(() => ({ guard, key, value: make(guard, key) }));
  if (made.guard === guard && made.key === key) return made.value;
  const next = { guard, key, value: make(guard, key) };
  setMade(next);
  return next.value;
}
