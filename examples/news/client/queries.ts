/** The query cache of this tab. It outlives a visit to another site, and a reload empties it. */
import { dehydrate, hydrate, QueryCache, QueryClient } from "@tanstack/react-query";
import { isOfOtherSession } from "./api.ts";

const STORED = "queries";
export const SESSION = ["session"];

export function openQueries(): QueryClient {
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Infinity,
        gcTime: Infinity,
        retry: (count, error) => count < 2 && !isOfOtherSession(error),
      },
    },
    queryCache: new QueryCache({
      onError: (error) => {
        if (isOfOtherSession(error)) void queries.invalidateQueries({ queryKey: SESSION });
      },
    }),
  });
  const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  const stored = navigation?.type === "back_forward" ? sessionStorage.getItem(STORED) : null;
  if (stored !== null) hydrate(queries, JSON.parse(stored));
  addEventListener("pagehide", () => sessionStorage.setItem(STORED, JSON.stringify(dehydrate(queries))));
  return queries;
}
