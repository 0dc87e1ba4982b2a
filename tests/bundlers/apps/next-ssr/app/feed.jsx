"use client";
/** The list: the first page as the server rendered it, then as many more as the reader scrolls to. */
import { useEffect, useRef, useState } from "react";
import { useSeenFeed, useSeenGuard } from "seenguard/react";
import { keepPending } from "./keep-pending.js";

/** Loads the guard when it is first needed. */
const open = (options) => import("seenguard").then(({ SeenGuard }) => SeenGuard.open(options));

export function Feed({ user, first }) {
  const namespace = `home:${user}`;
  const guard = useSeenGuard({ namespace, open, report: { url: "/api/impressions" } });
  const [pages, setPages] = useState([first]);
  const articles = pages.flatMap((page) => page.items);
  const { items } = useSeenFeed(guard, articles, { ssr: true });

  const list = useRef(null);
  useEffect(() => {
    if (!guard) return;
    guard.apply(first.snapshot);
    return keepPending(guard, encodeURIComponent(namespace), list.current);
  }, [guard, namespace, first]);

  const end = useRef(null);
  const { next } = pages[pages.length - 1];
  useEffect(() => {
    if (!guard || next === null) return;
    let isLoading = false;
    const nearEnd = new IntersectionObserver(
      async ([{ isIntersecting }]) => {
        if (!isIntersecting || isLoading) return;
        isLoading = true;
        const page = await fetchPage(guard, next);
        isLoading = false;
        if (page) setPages((pages) => [...pages, page]);
      },
      { rootMargin: "100%" },
    );
    nearEnd.observe(end.current);
    return () => nearEnd.disconnect();
  }, [guard, next]);

  return (
    <>
      <ol ref={list}>
        {items.map(({ id, title }) => (
          <li key={id} data-seen-id={id}>
            {title}
          </li>
        ))}
      </ol>
      <div ref={end} />
    </>
  );
}

async function fetchPage(guard, cursor) {
  const url = `/api/feed?cursor=${encodeURIComponent(cursor)}`;
  const response = await fetch(url, { headers: guard.headers() }).catch(() => undefined);
  if (!response?.ok) return undefined;
  const page = await response.json();
  guard.apply(page.snapshot); // before the items are rendered
  return page;
}
