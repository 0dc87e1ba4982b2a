/** Modules of the compilers of Vue and Svelte, and of the documentation's examples. */
declare module "*.vue" {
  import type { Component } from "vue";
  const component: Component;
  export default component;
}
declare module "*.svelte" {
  import type { Component } from "svelte";
  const component: Component<Record<string, unknown>>;
  export default component;
}
declare module "documented-timeline" {
  import type { SeenGuard } from "seenguard";
  interface Item {
    id: string;
  }
  interface Timeline {
    items: Item[];
    waiting: Item[];
    showWaiting: () => void;
  }
  export function useTimeline(guard: SeenGuard | null | undefined, loaded: Item[], arrived: Item[]): Timeline;
}
declare module "documented-query" {
  import type { FeedPage, PageRequest, SeenGuard } from "seenguard";
  interface Item {
    id: string;
  }
  interface FeedQuery {
    items: Item[];
    reset: () => void;
    hasNextPage: boolean;
    fetchNextPage: () => Promise<unknown>;
  }
  export function useFeedQuery(
    guard: SeenGuard | null | undefined,
    userId: string,
    fetchPage: (request: PageRequest) => Promise<FeedPage<Item>>,
  ): FeedQuery;
}
