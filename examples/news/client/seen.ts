/** What this reader has seen: what the page does with Seenguard, but for the list and two buttons. */
import { createContext, useContext, useEffect } from "react";
import type { SeenGuard } from "seenguard";
import { useSeenGuard, useSeenRef } from "seenguard/react";
import { idsOf, namespaceOf } from "../shared/seen.ts";
import type { Story, StoryPage } from "../shared/story.ts";
import { useRequest } from "./account.tsx";

/** The account's guard, once it is open. It reports to the server as long as this is rendered. */
export function useGuardOf(account: string): SeenGuard | undefined {
  const guard = useSeenGuard({ namespace: namespaceOf(account) });
  useEffect(() => guard?.report({ url: "/api/seen" }), [guard]);
  return guard;
}

export const GuardContext = createContext<SeenGuard>(undefined as never);
export const useGuard = () => useContext(GuardContext);

/** For the element that shows a story. */
export const useStoryRef = (story: Story) => useSeenRef(useGuard(), idsOf(story));

/** Fetches a page of stories. */
export function useFetchStories(path: string) {
  const guard = useGuard();
  const request = useRequest();
  return async (cursor: string, signal: AbortSignal) => {
    const query = new URLSearchParams({ cursor, held: guard.held(), pending: guard.pendingShard(3000) });
    const { seen, ...page } = await request<StoryPage>("GET", `${path}?${query}`, { signal });
    guard.apply(seen);
    return page;
  };
}
