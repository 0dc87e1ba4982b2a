/** The lists that this tab has loaded: the same after an article, and after another site. A reload begins anew. */
import type { FeedPage } from "seenguard";
import { computed, reactive } from "vue";
import type { Story } from "../../shared/story.ts";
import { guard, reader, readerRequest } from "./account.ts";

interface List {
  stories: Story[];
  /** Where the next page begins; null after the last one. */
  next: string | null;
  state: "idle" | "loading" | "failed";
}
const emptyList = (): List => ({ stories: [], next: "", state: "idle" });

const STORED = "lists";
const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
const stored = navigation?.type === "back_forward" ? sessionStorage.getItem(STORED) : null;
/** By account and path. */
const lists = reactive(new Map(JSON.parse(stored ?? "[]") as [string, List][]));

addEventListener("pagehide", () => {
  const loaded = [...lists].map(([key, list]) => [key, { ...list, state: "idle" }]);
  sessionStorage.setItem(STORED, JSON.stringify(loaded));
});

/** All lists are old now. */
export const forgetLists = () => lists.clear();

/** The reader's list of the stories at `path`. */
export function useList(path: string) {
  const key = `${reader().id} ${path}`;
  const request = readerRequest();
  const list = computed(() => lists.get(key) ?? emptyList());

  async function loadMore() {
    const { value: current } = list;
    if (current.state === "loading" || current.next === null) return;
    current.state = "loading";
    try {
      const init = { headers: guard.value?.headers() };
      const page = await request<FeedPage<Story>>("GET", `${path}?cursor=${current.next}`, init);
      guard.value?.apply(page.snapshot);
      current.stories.push(...page.items);
      Object.assign(current, { next: page.next ?? null, state: "idle" });
    } catch (error) {
      console.error(error);
      current.state = "failed";
    }
  }
  function beginAnew() {
    lists.set(key, emptyList());
    void loadMore();
  }
  if (!lists.has(key)) beginAnew();
  else if (list.value.state === "failed") void loadMore();
  return { list, loadMore, beginAnew };
}
