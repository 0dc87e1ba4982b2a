/** The same for the entry of React. */
import { SeenGuard, type FetchPage } from "seenguard";
import {
  useSeenFeed,
  useSeenGuard,
  useSeenPages,
  useSeenRef,
  type SeenFeed,
  type SeenFeedOptions,
  type SeenPages,
  type SeenPagesOptions,
  type UseSeenGuardOptions,
} from "seenguard/react";

interface Post {
  readonly key: number;
}
const posts: readonly Post[] = [{ key: 1 }];
const fetchPosts: FetchPage<Post, number> = ({ cursor = 0 }) => Promise.resolve({ items: posts, next: cursor + 1 });
const shared: UseSeenGuardOptions = {
  namespace: "home:ada",
  open: (given) => import("seenguard").then(({ SeenGuard }) => SeenGuard.open(given)),
  report: { url: "/api/impressions" },
};
const wanted: SeenPagesOptions = { want: 20, maxPages: 3, timeoutMs: 5_000, key: "home" };
const options: SeenFeedOptions = { ssr: true, key: "home" };

export function useAll(): void {
  const guard: SeenGuard | null | undefined = useSeenGuard({ ...shared, storage: "none", open: SeenGuard.open });
  const feed: SeenFeed<Post> = useSeenFeed(guard, posts, { ...options, id: ({ key }) => key });
  const { items, reset }: SeenFeed<string> = useSeenFeed(guard, ["a", "b"]);
  useSeenFeed(guard, [{ id: 1n }], options).reset();
  useSeenGuard(posts.length > 0 ? shared : null);
  useSeenGuard(undefined);
  const pages: SeenPages<Post> = useSeenPages(guard, fetchPosts, { ...wanted, id: ({ key }) => key });
  const { loadMore, error }: SeenPages<string> = useSeenPages(guard, () => Promise.resolve({ items: ["a"] }), wanted);
  const shown: Post[] = pages.loading || pages.done ? [] : pages.items;
  if (error === undefined) void loadMore().then(pages.reset);
  console.log(shown.length);
  feed.reset();
  reset();
  const refs: ((element: object | null) => void)[] = [
    useSeenRef(guard, 1),
    useSeenRef(null, items, { threshold: 0.6, dwellMs: 500 }),
  ];
  for (const ref of refs) ref(null);
}
