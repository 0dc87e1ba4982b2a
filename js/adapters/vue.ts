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
import type { FetchPage, IdOf, SeenGuard } from "../types/seenguard.js";
import type { SeenElement, SeenFeed, SeenPages, SeenPagesOptions, SharedGuardOptions } from "../types/vue.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { withLatest } from "./latest.js";
import { pageListOf, WAITING, type PageListState } from "./page-list.js";
import { holdGuard, openGuard } from "./shared-guards.js";
import { trackElement, type TrackedElement } from "./tracked-element.js";

export function useSeenGuard(options: MaybeRefOrGetter<SharedGuardOptions>): ComputedRef<SeenGuard | undefined> {
  const namespace = computed(() => toValue(options).namespace);
  /** How often there was news of a guard; 0: none is held. */
  const news = shallowRef(0);
  const onNews = () => news.value++;
  const hold = () => {
    onNews();
    const holdNow = () =>
      holdGuard(
        withLatest(() => toValue(options)),
        onNews,
      );
    watch(namespace, (_now, _before, onCleanup) => onCleanup(holdNow()), { immediate: true, flush: "sync" });
  };
  whenMounted(hold);
  return computed(() => (news.value > 0 ? openGuard(namespace.value) : undefined));
}

export function useSeenFeed<T>(
  guard: MaybeRefOrGetter<SeenGuard | undefined>,
  items: MaybeRefOrGetter<readonly T[]>,
  options: MaybeRefOrGetter<FeedViewOptions<T>> = {},
): SeenFeed<T> {
  const key = computed(() => toValue(options).key);
  const seen = computed(() => toValue(options).seen);
  const feed = computed(() => {
    const current = toValue(guard);
    return current && feedOf(current, key.value, seen.value);
  });
  const view = shallowRef(new FeedView<T>());
  return {
    items: computed(() => view.value.show(feed.value, toValue(items), toValue(options))),
    reset() {
      view.value.reset(feed.value);
      triggerRef(view);
    },
  };
}

export function useSeenPages<T, C>(
  guard: MaybeRefOrGetter<SeenGuard | undefined>,
  fetchPage: FetchPage<T, C>,
  options: MaybeRefOrGetter<SeenPagesOptions & { id?: IdOf<T> }>,
): SeenPages<T> {
  const key = computed(() => toValue(options).key);
  const seen = computed(() => toValue(options).seen);
  const list = computed(() => pageListOf<T, C>(toValue(guard), key.value, seen.value));
  const source = () => ({ ...toValue(options), fetchPage });
  const state = shallowRef<PageListState<T>>(WAITING);
  const hold = () => {
    const holdNow = (current: typeof list.value, _before: unknown, onCleanup: (release: () => void) => void) => {
      const show = () => {
        state.value = current?.state ?? WAITING;
      };
      show();
      if (current) onCleanup(current.hold(source(), show));
    };
    watch(list, holdNow, { immediate: true, flush: "sync" });
  };
  whenMounted(hold);
  return {
    items: computed(() => state.value.items),
    loading: computed(() => state.value.loading),
    error: computed(() => state.value.error),
    end: computed(() => state.value.end),
    loadMore: async () => list.value?.loadMore(source()),
    reset: async () => list.value?.reset(source()),
  };
}

/** Servers mount nothing, and hydration begins as they do: without a guard. */
function whenMounted(run: () => void): void {
  if (getCurrentInstance()) onMounted(run);
  else run();
}

const tracked = new WeakMap<Element, TrackedElement>();

export const vSeen: ObjectDirective<Element, SeenElement> = {
  mounted: (element, { value }) => void tracked.set(element, trackElement(element, value)),
  updated: (element, { value }) => tracked.get(element)?.update(value),
  unmounted: (element) => tracked.get(element)?.destroy(),
};
