/** A list of stories that grows as its end comes near. */
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { Link } from "react-router-dom";
import type { FeedPage } from "seenguard";
import { useSeenFeed, useSeenRef } from "seenguard/react";
import { ago, idsOf, type Story } from "../shared/story.ts";
import { useAccount, useGuard, useRequest } from "./account.tsx";

interface StoriesProps {
  /** The path of the stories on the server. */
  path: string;
  title: string;
  /** Whether stories that were seen are left out or come last. */
  old: "drop" | "last";
}

export function Stories({ path, title, old }: StoriesProps) {
  const queries = useQueryClient();
  const queryKey = [useAccount().id, path];
  const request = useRequest();
  const guard = useGuard();

  async function fetchPage(cursor: string, signal: AbortSignal) {
    const init = { headers: guard?.headers(), signal };
    const { snapshot, ...page } = await request<FeedPage<Story>>("GET", `${path}?cursor=${cursor}`, init);
    guard?.apply(snapshot);
    return page;
  }
  const { data, error, isFetching, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
  const received = data?.pages.flatMap((page) => page.items) ?? [];
  // With "last", stories that were seen are shown, at the end.
  const { items, reset } = useSeenFeed(old === "last" ? null : guard, received, { key: path, id: idsOf });

  function refresh() {
    reset();
    scrollTo({ top: 0 });
    void queries.resetQueries({ queryKey });
  }
  const isComplete = !isFetching && !error && !hasNextPage;
  return (
    <>
      <div className="title">
        <h1>{title}</h1>
        <button onClick={refresh}>Refresh</button>
      </div>
      <ol className="stories" aria-busy={isFetching}>
        {items.map((story, index) => (
          <StoryCard key={story.id} story={story} isLead={index === 0} />
        ))}
      </ol>
      {isFetching && <p role="status">Loading stories…</p>}
      {error && !isFetching && (
        <p role="alert">
          The stories could not be loaded. <button onClick={() => void fetchNextPage()}>Try again</button>
        </p>
      )}
      {hasNextPage && !isFetching && !error && <End onReach={() => void fetchNextPage()} />}
      {isComplete && <p className="end">{items.length > 0 ? "That is all for now." : "You have seen everything."}</p>}
    </>
  );
}

/** Returns the `ref` for the element that shows a story. */
export const useSeenStory = (story: Story) => useSeenRef(useGuard(), idsOf(story));

function StoryCard({ story, isLead }: { story: Story; isLead: boolean }) {
  const { id, title, topic, source, minutesAgo, repost } = story;
  return (
    <li ref={useSeenStory(story)} className={isLead ? "lead" : undefined} data-topic={topic}>
      <p className="topic">
        {repost && <span className="repost">{repost.by} shared · </span>}
        <Link to={`/topics/${topic}`}>{topic}</Link>
      </p>
      <h2>
        <Link to={`/articles/${id}`}>{title}</Link>
      </h2>
      <p className="source">
        {source} · {ago(minutesAgo)}
      </p>
    </li>
  );
}

/** The end of the list. Loads the next page as it comes near the viewport. */
function End({ onReach }: { onReach: () => void }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a busy page several changes come in one call, the latest last.
    const observer = new IntersectionObserver((entries) => entries.at(-1)?.isIntersecting && onReach(), {
      rootMargin: "0px 0px 400px",
    });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  });
  return <div ref={element} />;
}
