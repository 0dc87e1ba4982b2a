"use client";
/** The entry `seenguard/react`: hooks. */
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import type { SeenFeed, SeenGuardState, SeenPages, UseSeenGuardOptions } from "../types/react.js";
import type * as Api from "../types/seenguard.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { pageListOf, PageListCalls, WAITING, type PageListState, type PageOptions } from "./page-list.js";
import { Reporting, reportKey } from "./reporting.js";
import { holdGuard, OPENING, SIGNED_OUT, stateOf } from "./shared-guard.js";
import { identityOf, trackItem, trackRoot, type Track, type TrackedElement } from "./tracked-element.js";

type Guard = Api.SeenGuard | null | undefined;
type Ref = (element: object | null) => void;

export function useSeenGuard(options: UseSeenGuardOptions | null | undefined): SeenGuardState {
  const namespace = options?.namespace;
  const latest = useLatest(options);
  // Options are recreated in each rendering.
  const hold = useCallback((onChange: () => void) => holdGuard(() => latest.current, onChange), [latest, namespace]);
  const first = () => (namespace ? OPENING : SIGNED_OUT);
  return useSyncExternalStore(hold, () => stateOf(namespace), first);
}

export function useReport(guard: Guard, options: Api.ReportOptions | null | undefined): void {
  const [report] = useState(() => new Reporting());
  const latest = useLatest(options);
  const key = reportKey(options);
  useEffect(() => report.begin(guard, latest.current), [report, latest, guard, key]);
  useEffect(() => report.replace(options));
}

export function useSeenFeed<T>(guard: Guard, items: readonly T[], options: FeedViewOptions<T> = {}): SeenFeed<T> {
  const feed = useMade(feedOf, guard, options.key);
  const [view] = useState(() => new FeedView<T>());
  const subscribe = useCallback((onChange: () => void) => view.subscribe(guard, onChange), [view, guard]);
  const show = () => view.show(feed, items, options);
  const reset = useCallback(() => view.reset(feed), [view, feed]);
  return { items: useSyncExternalStore(subscribe, show, show), reset };
}

export function useSeenPages<T, C>(
  guard: Guard,
  fetchPage: Api.FetchPage<T, C>,
  options: PageOptions<T>,
): SeenPages<T> {
  const latest = useLatest({ ...options, fetchPage });
  const list = useMade(pageListOf<T, C>, guard, options.key);
  const [pages] = useState(() => new PageListCalls<T, C>(() => latest.current));
  const hold = useCallback((onChange: () => void) => pages.hold(list, onChange), [pages, list]);
  const first = (): PageListState<T> => WAITING;
  const state = useSyncExternalStore(hold, () => list?.state ?? WAITING, first);
  return { ...state, loadMore: pages.loadMore, reset: pages.reset };
}

export function useSeenRef(guard: Guard, id: Api.SeenElement["id"], options: Api.ObserveItemOptions = {}): Ref {
  return useTracked(trackItem, { ...options, guard, id });
}

export function useSeenRoot(guard: Guard, options: Api.ObserveOptions = {}): Ref {
  return useTracked(trackRoot, { ...options, guard });
}

function useTracked<Shown extends Api.SeenRoot>(track: Track<Shown>, shown: Shown): Ref {
  const tracked = useRef<TrackedElement<Shown>>(undefined);
  useEffect(() => tracked.current?.update(shown));
  const attach: Ref = (element) => {
    tracked.current?.release();
    tracked.current = element ? track(element as Element, shown) : undefined;
  };
  return useMemo(() => attach, [shown.guard, identityOf(shown)]);
}

/** The value of the latest rendering, whose callbacks are called. */
function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  useEffect(() => void (latest.current = value));
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
