/** The documentation's list whose pages TanStack Query caches. */
import { QueryClient, QueryClientProvider, useQueryClient } from "@tanstack/react-query";
import { useFeedQuery } from "documented-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import type { FeedPage, PageRequest } from "seenguard";
import { useReport, useSeenGuard } from "seenguard/react";
import { Entry } from "./entry.tsx";
import { namespaceOf, open, type Item } from "../shared.ts";

function Feed() {
  const { guard } = useSeenGuard({ namespace: namespaceOf("ada"), open });
  useReport(guard, { url: "/api/feed/seen" });
  const { items, reset, hasNextPage, fetchNextPage } = useFeedQuery(guard, "ada", fetchPage);
  const queries = useQueryClient();
  const refresh = () => {
    reset();
    void queries.resetQueries({ queryKey: ["home", "ada"] });
  };
  return (
    <>
      <button onClick={refresh}>Refresh</button>
      <ol>
        {items.map(({ id }) => (
          <Entry key={id} guard={guard} id={id} />
        ))}
      </ol>
      {hasNextPage && <button onClick={() => void fetchNextPage()}>More</button>}
    </>
  );
}

async function fetchPage({ cursor = "", headers, signal }: PageRequest): Promise<FeedPage<Item>> {
  const response = await fetch(`/api/feed?page=${cursor}`, { headers, signal });
  return (await response.json()) as FeedPage<Item>;
}

createRoot(document.querySelector("#app") ?? document.body).render(
  <StrictMode>
    <QueryClientProvider client={new QueryClient()}>
      <Feed />
    </QueryClientProvider>
  </StrictMode>,
);
