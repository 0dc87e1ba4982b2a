/** A list that loads its own pages, of elements that a component library attaches again with each rendering. */
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { useSeenGuard, useSeenPages, useSeenRef } from "seenguard/react";
import { fetchFeedPage, namespaceOf, noteRender, observing, open, type Guard, type Item } from "../shared.ts";

function Pages() {
  const { guard } = useSeenGuard({ namespace: namespaceOf("ada"), open });
  noteRender("ada", guard);
  const pages = useSeenPages(guard, fetchFeedPage, { want: 10 });
  const [, setTicks] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTicks((ticks) => ticks + 1), 50);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <button onClick={() => void pages.reset()}>Refresh</button>
      <ol>
        {pages.items.map((item) => (
          <Entry key={item.id} guard={guard} item={item} />
        ))}
      </ol>
      <p>
        {pages.error !== undefined ? "Failed" : pages.loading ? "Loading" : pages.done ? "The end" : "There is more"}
      </p>
      <button onClick={() => void pages.loadMore()}>More</button>
    </>
  );
}

function Entry({ guard, item }: { guard: Guard; item: Item }) {
  const ref = useSeenRef(guard, item.id, observing);
  return <li ref={(element) => ref(element)}>{item.title}</li>;
}

createRoot(document.querySelector("#app") ?? document.body).render(
  <StrictMode>
    <Pages />
  </StrictMode>,
);
