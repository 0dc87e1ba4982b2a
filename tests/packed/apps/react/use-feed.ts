/** A guarded feed as a hook: fetches, applies what the server ships, and filters the whole list in every render. */
import { useCallback, useEffect, useMemo, useState } from "react";
import type { SeenGuard, Snapshot } from "seenguard";

export interface Item {
  id: string;
}
export interface Answer {
  items: Item[];
  snapshot: Snapshot;
}

export function useFeed(guard: SeenGuard, fetchAnswer: () => Promise<Answer>) {
  const feed = useMemo(() => guard.feed(), [guard]);
  const [items, setItems] = useState<readonly Item[]>([]);
  const refetch = useCallback(async () => {
    const answer = await fetchAnswer();
    guard.apply(answer.snapshot);
    setItems(answer.items);
  }, [guard, fetchAnswer]);
  useEffect(() => void refetch(), [refetch]);
  return { items: feed.filter(items), refetch };
}
