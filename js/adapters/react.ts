"use client";
/** The entry `seenguard/react`: hooks. */
import { useCallback, useEffect, useMemo, useReducer, useRef, useState, useSyncExternalStore } from "react";
import type { SeenFeed, SeenPages, SeenPagesOptions, SharedGuardOptions } from "../types/react.js";
import type { FetchPage, Identified, IdOf, ItemId, ObserveOptions, SeenGuard } from "../types/seenguard.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { idsKey, withLatest } from "./latest.js";
import { pageListOf, WAITING, type PageListState } from "./page-list.js";
import { holdGuard, openGuard } from "./shared-guards.js";
import { trackElement, type TrackedElement } from "./tracked-element.js";

export function useSeenGuard(options: SharedGuardOptions): SeenGuard | undefined {
  const { namespace } = options;
  const latest = useLatest(options);
  const subscribe = useCallback(
    (onOpen: () => void) =>
      holdGuard(
        withLatest(() => latest.current),
        onOpen,
      ),
    // The guard is another one for another namespace alone.
    [latest, namespace],
  );
  return useSyncExternalStore(
    subscribe,
    () => openGuard(namespace),
    () => undefined,
  );
}

export function useSeenFeed<T extends Identified>(
  guard: SeenGuard | undefined,
  items: readonly T[],
  options?: FeedViewOptions<T>,
): SeenFeed<T>;
export function useSeenFeed<T>(
  guard: SeenGuard | undefined,
  items: readonly T[],
  options: FeedViewOptions<T> & { id: IdOf<T> },
): SeenFeed<T>;
export function useSeenFeed<T>(
  guard: SeenGuard | undefined,
  items: readonly T[],
  options: FeedViewOptions<T> = {},
): SeenFeed<T> {
  const { key, seen } = options;
  const feed = useMemo(() => guard && feedOf(guard, key, seen), [guard, key, seen]);
  const [view] = useState(() => new FeedView<T>());
  const [, render] = useReducer((count: number) => count + 1, 0);
  const reset = useCallback(() => {
    view.reset(feed);
    render();
  }, [view, feed]);
  return { items: view.show(feed, items, options), reset };
}

export function useSeenPages<T, C = string>(
  guard: SeenGuard | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions & { id: IdOf<T> },
): SeenPages<T>;
export function useSeenPages<T extends Identified, C = string>(
  guard: SeenGuard | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions,
): SeenPages<T>;
export function useSeenPages<T, C>(
  guard: SeenGuard | undefined,
  fetchPage: FetchPage<T, C>,
  options: SeenPagesOptions & { id?: IdOf<T> },
): SeenPages<T> {
  const { key, seen } = options;
  const latest = useLatest({ ...options, fetchPage });
  const list = useMemo(() => pageListOf<T, C>(guard, key, seen), [guard, key, seen]);
  const actions = useMemo(
    () => ({
      loadMore: async () => list?.loadMore(latest.current),
      reset: async () => list?.reset(latest.current),
    }),
    [list, latest],
  );
  const subscribe = useCallback(
    (onChange: () => void) => list?.hold(latest.current, onChange) ?? (() => {}),
    [list, latest],
  );
  const state = useSyncExternalStore<PageListState<T>>(
    subscribe,
    () => list?.state ?? WAITING,
    () => WAITING,
  );
  return { ...state, ...actions };
}

export function useSeenRef(
  guard: SeenGuard | undefined,
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
      const next = { ...latest.current, guard, id };
      tracked.current = element ? trackElement(element as Element, next) : undefined;
    },
    [guard, ids, threshold, dwellMs, local, latest],
  );
}

/** What was passed in the latest rendering: its callbacks are called. */
function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}
