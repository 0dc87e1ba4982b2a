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
import type { SeenGuard } from "../types/seenguard.js";
import type { SeenElement, SeenFeed, SharedGuardOptions } from "../types/vue.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { withLatest } from "./latest.js";
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
  // Servers mount nothing, and hydration begins as they do: without a guard.
  if (getCurrentInstance()) onMounted(hold);
  else hold();
  return computed(() => (news.value > 0 ? openGuard(namespace.value) : undefined));
}

export function useSeenFeed<T>(
  guard: MaybeRefOrGetter<SeenGuard | undefined>,
  items: MaybeRefOrGetter<readonly T[]>,
  options: MaybeRefOrGetter<FeedViewOptions<T>> = {},
): SeenFeed<T> {
  const key = computed(() => toValue(options).key);
  const seen = computed(() => toValue(options).seen);
  const feed = computed(() => feedOf(toValue(guard), key.value, seen.value));
  const view = shallowRef(new FeedView<T>());
  return {
    items: computed(() => view.value.show(feed.value, toValue(items), toValue(options))),
    reset() {
      view.value.reset(feed.value);
      triggerRef(view);
    },
  };
}

const tracked = new WeakMap<Element, TrackedElement>();

export const vSeen: ObjectDirective<Element, SeenElement> = {
  mounted: (element, { value }) => void tracked.set(element, trackElement(element, value)),
  updated: (element, { value }) => tracked.get(element)?.update(value),
  unmounted: (element) => tracked.get(element)?.destroy(),
};
