/** Query parameters, which need no preflight request. */
import type { FeedPage, PageRequest, SeenGuard } from "seenguard";

export function fetchPageOf(_guard: SeenGuard, baseUrl: string) {
  return async ({ cursor = "", headers, signal }: PageRequest) => {
    const query = new URLSearchParams({ cursor, ...headers }).toString();
    const response = await fetch(`${baseUrl}/api/feed?${query}`, { signal });
    return (await response.json()) as FeedPage<{ id: string }>;
  };
}
