/** Which cursors `fill` takes, and what TypeScript says of others. This file need not run, only compile. */
import type { Feed, FeedPage, PageRequest } from "seenguard";

interface Post {
  readonly id: string;
}
declare function postsAfter(cursor: unknown): Promise<{ posts: Post[]; next: string | number | null }>;

type Next<Result extends Promise<{ next: unknown }>> = Awaited<Result>["next"];

/** A cursor without a type is any; the type of `next` is that of the page. */
export function withoutType(feed: Feed): Next<ReturnType<typeof fill>> {
  const fill = () =>
    feed.fill(async ({ cursor }) => {
      const { posts, next } = await postsAfter(cursor);
      return { items: posts, next };
    }, 5);
  const next: string | number | null | undefined = undefined as Next<ReturnType<typeof fill>>;
  return next;
}

export async function withType(feed: Feed): Promise<void> {
  const withNull = async ({ cursor }: PageRequest<string | number | null>) => {
    const { posts, next } = await postsAfter(cursor);
    return { items: posts, next };
  };
  const numbers = ({ cursor = 0 }: PageRequest<number>): Promise<FeedPage<Post, number>> =>
    Promise.resolve({ items: [], next: cursor + 1 });
  const { next } = await feed.fill(withNull, 5);
  const offset: number | null | undefined = (await feed.fill(numbers, 5, { id: ({ id }) => id })).next;
  const words: string | number | null | undefined = next;
  return void [offset, words];
}

export async function withAnotherType(feed: Feed): Promise<void> {
  // @ts-expect-error -- the request has a text, and the page a number
  await feed.fill(({ cursor }: PageRequest) => Promise.resolve({ items: [{ id: cursor ?? "a" }], next: 7 }), 5);
}
