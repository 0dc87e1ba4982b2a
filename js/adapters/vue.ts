/** The entry `seenguard/vue`: composables and a directive. */
import {
  computed,
  getCurrentInstance,
  onMounted,
  shallowRef,
  toValue,
  triggerRef,
  watch,
  type ComputedRef,
  type MaybeRefOrGetter,
  type ObjectDirective,
} from "vue";
import type { FetchPage, SeenElement, SeenGuard } from "../types/seenguard.js";
import type { SeenFeed, SeenPages, UseSeenGuardOptions } from "../types/vue.js";
import { changesOf } from "./changes.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { pageListOf, Pages, WAITING, type PageListState, type PageSource } from "./page-list.js";
import { guardOf, holdGuard, identityOf } from "./shared-guards.js";
import { trackElement, type TrackedElement } from "./tracked-element.js";

type Guard = SeenGuard | null | undefined;

export function useSeenGuard(options: MaybeRefOrGetter<UseSeenGuardOptions | null | undefined>): ComputedRef<Guard> {
  const latest = () => toValue(options);
  /** The number of changes of the guard; 0: none is held. */
  const news = shallowRef(0);
  const onNews = () => news.value++;
  whenMounted(() => {
    onNews();
    follow(
      () => identityOf(latest()),
      () => holdGuard(latest, onNews),
    );
  });
  return computed(() => {
    const namespace = latest()?.namespace;
    return news.value > 0 || !namespace ? guardOf(namespace) : undefined;
  });
}

export function useSeenFeed<T>(
  guard: MaybeRefOrGetter<Guard>,
  items: MaybeRefOrGetter<readonly T[]>,
  options: MaybeRefOrGetter<FeedViewOptions<T>> = {},
): SeenFeed<T> {
  const key = computed(() => toValue(options).key);
  const feed = computed(() => feedOf(toValue(guard), key.value));
  const view = shallowRef(new FeedView<T>());
  follow(
    () => toValue(guard),
    (current) => changesOf(current).subscribe(() => triggerRef(view)),
  );
  return {
    items: computed(() => view.value.show(feed.value, toValue(items), toValue(options))),
    reset() {
      view.value.reset(feed.value);
      triggerRef(view);
    },
  };
}

export function useSeenPages<T, C>(
  guard: MaybeRefOrGetter<Guard>,
  fetchPage: FetchPage<T, C>,
  options: MaybeRefOrGetter<Omit<PageSource<T, C>, "fetchPage">>,
): SeenPages<T> {
  const key = computed(() => toValue(options).key);
  const list = computed(() => pageListOf<T, C>(toValue(guard), key.value));
  const pages = new Pages<T, C>(() => ({ ...toValue(options), fetchPage }));
  const state = shallowRef<PageListState<T>>(WAITING);
  const hold = (current: typeof list.value) => {
    const show = () => (state.value = current?.state ?? WAITING);
    show();
    return pages.hold(current, show);
  };
  whenMounted(() => follow(() => list.value, hold));
  return {
    items: computed(() => state.value.items),
    loading: computed(() => state.value.loading),
    error: computed(() => state.value.error),
    done: computed(() => state.value.done),
    loadMore: pages.loadMore,
    reset: pages.reset,
  };
}

/** Calls `begin` for a value, and again after each change. */
function follow<T>(source: () => T, begin: (value: T) => () => void): void {
  watch(source, (value, _before, onCleanup) => onCleanup(begin(value)), { immediate: true, flush: "sync" });
}

/** Servers do not mount, and hydration must begin with the same state: without a guard. */
function whenMounted(run: () => void): void {
  if (getCurrentInstance()) onMounted(run);
  else run();
}

const tracked = new WeakMap<Element, TrackedElement>();

export const vSeen: ObjectDirective<Element, SeenElement> = {
  mounted: (element, { value }) => void tracked.set(element, trackElement(element, value)),
  updated: (element, { value }) => tracked.get(element)?.update(value),
  unmounted: (element) => tracked.get(element)?.release(),
};
