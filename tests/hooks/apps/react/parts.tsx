/** The documentation's examples of new posts and of another order. */
import { useTimeline } from "documented-timeline";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import type { FeedPage, PageRequest } from "seenguard";
import { useSeenGuard, useSeenPages } from "seenguard/react";
import { Entry } from "./entry.tsx";
import { namespaceOf, noteRender, open, type Guard } from "../shared.ts";

const itemsOf = (...ids: string[]) => ids.map((id) => ({ id }));
const loaded = itemsOf("old-0", "old-1", "old-2");

function Parts() {
  const { guard } = useSeenGuard({ namespace: namespaceOf("ada"), open });
  noteRender("ada", guard);
  return location.pathname === "/order" ? <SortedFeed guard={guard} /> : <Timeline guard={guard} />;
}

function Timeline({ guard }: { guard: Guard }) {
  const [arrived, setArrived] = useState(itemsOf());
  const { items, waiting, showWaiting } = useTimeline(guard, loaded, arrived);
  return (
    <>
      <button onClick={() => setArrived(itemsOf("new-1", "new-0", "old-0"))}>Arrive</button>
      {waiting.length > 0 && <button onClick={showWaiting}>{waiting.length} new posts</button>}
      <List guard={guard} items={items} />
    </>
  );
}

function SortedFeed({ guard }: { guard: Guard }) {
  const [order, setOrder] = useState("best");
  return (
    <>
      <button onClick={() => setOrder(order === "best" ? "latest" : "best")}>Sort</button>
      <Sorted key={order} guard={guard} order={order} />
    </>
  );
}

function Sorted({ guard, order }: { guard: Guard; order: string }) {
  async function fetchPage({ page, headers, signal }: PageRequest): Promise<FeedPage<{ id: string }>> {
    const response = await fetch(`/api/feed?order=${order}&page=${String(page)}`, { headers, signal });
    return (await response.json()) as FeedPage<{ id: string }>;
  }
  const { items } = useSeenPages(guard, fetchPage, { want: 8, key: `home:${order}` });
  return <List guard={guard} items={items} />;
}

function List({ guard, items }: { guard: Guard; items: { id: string }[] }) {
  return (
    <ol>
      {items.map(({ id }) => (
        <Entry key={id} guard={guard} id={id} />
      ))}
    </ol>
  );
}

createRoot(document.querySelector("#app") ?? document.body).render(
  <StrictMode>
    <Parts />
  </StrictMode>,
);
