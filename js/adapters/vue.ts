/** The entry `seenguard/vue`: composables and directives. */
import { computed, getCurrentInstance, onMounted, shallowRef, toValue, triggerRef, watch } from "vue";
import type { MaybeRefOrGetter, ObjectDirective, Ref } from "vue";
import type { FetchPage, ReportOptions, SeenElement, SeenGuard, SeenRoot } from "../types/seenguard.js";
import type { SeenFeed, SeenPages, UseSeenGuard, UseSeenGuardOptions } from "../types/vue.js";
import { FeedView, feedOf, type FeedViewOptions } from "./feed-view.js";
import { pageListOf, PageListCalls, WAITING, type PageListState, type PageOptions } from "./page-list.js";
import { Reporting, reportKey } from "./reporting.js";
import { holdGuard, OPENING, SIGNED_OUT, stateOf } from "./shared-guard.js";
import { trackItem, trackRoot, type Track, type TrackedElement } from "./tracked-element.js";

type Guard = MaybeRefOrGetter<SeenGuard | null | undefined>;

export function useSeenGuard(options: MaybeRefOrGetter<UseSeenGuardOptions | null | undefined>): UseSeenGuard {
  const latest = () => toValue(options);
  const namespace = computed(() => latest()?.namespace);
  /** The number of changes of the guard; 0: none is held. */
  const changes = shallowRef(0);
  const onChange = () => void changes.value++;
  whenMounted(() => {
    onChange();
    follow(namespace, () => holdGuard(latest, onChange));
  });
  const first = () => (namespace.value ? OPENING : SIGNED_OUT);
  const state = computed(() => (changes.value > 0 ? stateOf(namespace.value) : first()));
  return { guard: computed(() => state.value.guard), status: computed(() => state.value.status) };
}

export function useReport(guard: Guard, options: MaybeRefOrGetter<ReportOptions | null | undefined>): void {
  const report = new Reporting();
  const latest = () => toValue(options);
  const current = computed(() => toValue(guard));
  const key = computed(() => reportKey(latest()));
  const both = computed(() => [current.value, key.value] as const);
  follow(both, ([held]) => report.begin(held, latest()));
  watch(latest, (next) => report.replace(next), { flush: "sync" });
}

export function useSeenFeed<T>(
  guard: Guard,
  items: MaybeRefOrGetter<readonly T[]>,
  options: MaybeRefOrGetter<FeedViewOptions<T>> = {},
): SeenFeed<T> {
  const current = computed(() => toValue(guard));
  const key = computed(() => toValue(options).key);
  const feed = computed(() => feedOf(current.value, key.value));
  const view = shallowRef(new FeedView<T>());
  follow(current, (held) => view.value.subscribe(held, () => triggerRef(view)));
  const shown = computed(() => view.value.show(feed.value, toValue(items), toValue(options)));
  return { items: shown, reset: () => view.value.reset(feed.value) };
}

export function useSeenPages<T, C>(
  guard: Guard,
  fetchPage: FetchPage<T, C>,
  options: MaybeRefOrGetter<PageOptions<T>>,
): SeenPages<T> {
  const key = computed(() => toValue(options).key);
  const list = computed(() => pageListOf<T, C>(toValue(guard), key.value));
  const { loadMore, reset, hold } = new PageListCalls<T, C>(() => ({ ...toValue(options), fetchPage }));
  const state = shallowRef<PageListState<T>>(WAITING);
  const show = () => void (state.value = list.value?.state ?? WAITING);
  whenMounted(() => follow(list, (current) => (show(), hold(current, show))));
  const part = <Name extends keyof PageListState<T>>(name: Name) => computed(() => state.value[name]);
  return { items: part("items"), loading: part("loading"), error: part("error"), done: part("done"), loadMore, reset };
}

/** Calls `begin` for a value, and again after each change. */
function follow<T>(source: Ref<T>, begin: (value: T) => (() => void) | undefined): void {
  watch(source, (value, _, onCleanup) => onCleanup(begin(value) ?? (() => {})), { immediate: true, flush: "sync" });
}

/** Servers do not mount, and hydration must begin with the same state: without a guard. */
function whenMounted(run: () => void): void {
  if (getCurrentInstance()) onMounted(run);
  else run();
}

export const vSeen = directiveOf<SeenElement>(trackItem);
export const vSeenRoot = directiveOf<SeenRoot>(trackRoot);

function directiveOf<Shown>(track: Track<Shown>): ObjectDirective<Element, Shown> {
  const tracked = new WeakMap<Element, TrackedElement<Shown>>();
  return {
    mounted: (element, { value }) => void tracked.set(element, track(element, value)),
    updated: (element, { value }) => tracked.get(element)?.update(value),
    unmounted: (element) => tracked.get(element)?.release(),
  };
}
