/** What an app in React uses. */
import { type RefCallback, useState } from "react";
import { SeenGuard } from "seenguard";
import { useSeenFeed, useSeenGuard, useSeenPages, useSeenRef } from "seenguard/react";

interface Post {
  readonly id: string;
}

export function useFeed(userId: string): { posts: readonly Post[]; first: RefCallback<Element> } {
  const [older] = useState<readonly Post[]>([]);
  const guard = useSeenGuard({ namespace: `home:${userId}`, open: SeenGuard.open });
  const { items } = useSeenPages(guard, () => Promise.resolve({ items: [] as Post[] }), { want: 8 });
  const feed = useSeenFeed(guard, [...items, ...older]);
  return { posts: feed.items, first: useSeenRef(guard, feed.items[0]?.id ?? "") };
}

// @ts-expect-error a namespace there must be; had the package no types, this would be no error
useSeenGuard({});
