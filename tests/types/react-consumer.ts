/** The same for the entry of React. */
import { SeenGuard } from "seenguard";
import {
  useSeenFeed,
  useSeenGuard,
  useSeenRef,
  type SeenFeed,
  type SeenFeedOptions,
  type SharedGuardOptions,
} from "seenguard/react";

interface Post {
  readonly key: number;
}
const posts: readonly Post[] = [{ key: 1 }];
const shared: SharedGuardOptions = { namespace: "home:ada", open: SeenGuard.open };
const options: SeenFeedOptions = { ssr: true, key: "home", seen: "last" };

export function useAll(): void {
  const guard: SeenGuard | undefined = useSeenGuard({ namespace: "home:ada", storage: "none" });
  const feed: SeenFeed<Post> = useSeenFeed(guard, posts, { ...options, id: ({ key }) => key });
  const { items, reset }: SeenFeed<string> = useSeenFeed(guard, ["a", "b"]);
  useSeenFeed(guard, [{ id: 1n }], options).reset();
  useSeenGuard(shared);
  feed.reset();
  reset();
  const refs: ((element: object | null) => void)[] = [
    useSeenRef(guard, 1),
    useSeenRef(undefined, items, { ratio: 0.6, dwellMs: 500 }),
  ];
  for (const ref of refs) ref(null);
}
