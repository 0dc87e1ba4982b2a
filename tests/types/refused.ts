/**
 * Code that TypeScript must refuse, and the cursors that `fill` accepts. A mark on a line that compiles is an error: this file need not
 * run, only compile.
 */
import type { Feed, FeedPage, FetchPage, GuardOptions, IdOf, PageRequest, SeenGuard } from "seenguard";

interface Post {
  readonly key: number;
}

declare const posts: readonly Post[];
declare const fetchPage: FetchPage<Post>;
declare const keyOf: IdOf<Post>;

export async function listsWithoutIds(guard: SeenGuard, feed: Feed): Promise<void> {
  // @ts-expect-error -- without `id`, items need one of their own
  await feed.fill(fetchPage, 20);
  // @ts-expect-error -- other options do not help
  await feed.fill(fetchPage, 20, { maxPages: 2 });
  // @ts-expect-error -- nor does a function that returns none
  await feed.fill(fetchPage, 20, { id: ({ key }) => ({ key }) });
  await feed.fill(fetchPage, 20, { id: keyOf });
  // @ts-expect-error -- the same of a list
  guard.filter(posts);
  // @ts-expect-error -- the same of a list
  guard.split(posts);
  // @ts-expect-error -- the same of a list
  feed.filter(posts);
  // @ts-expect-error -- the same of a page
  feed.admit(posts);
}

export async function pagesWithoutItems(feed: Feed): Promise<void> {
  // @ts-expect-error -- a page is a list of items, or an object that has it
  await feed.fill(() => Promise.resolve({ data: [{ id: "a" }] }), 20);
  // @ts-expect-error -- a Response has none
  await feed.fill(() => fetch("/api/feed"), 20);
}

export function noElement(guard: SeenGuard): void {
  // @ts-expect-error -- an element that may be missing must be checked first
  guard.observe(document.querySelector("main"));
  // @ts-expect-error -- the same of one element
  guard.observeItem(null, "a");
  // @ts-expect-error -- an item that is not loaded yet has no id
  guard.observeItem(document.body, undefined);
  // @ts-expect-error -- one item is observed by `observeItem`
  guard.observe(document.body, { id: "a" });
}

// @ts-expect-error -- a namespace is required
export const withoutNamespace: GuardOptions = {};

interface Story {
  readonly id: string;
}
declare function postsAfter(cursor: unknown): Promise<{ posts: Story[]; next: string | number | null }>;

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
  const numbers = ({ cursor = 0 }: PageRequest<number>): Promise<FeedPage<Story, number>> =>
    Promise.resolve({ items: [], next: cursor + 1 });
  const { next } = await feed.fill(withNull, 5);
  const offset: number | null | undefined = (await feed.fill(numbers, 5, { id: ({ id }) => id })).next;
  const words: string | number | null | undefined = next;
  return void [offset, words];
}

export async function withAnotherType(feed: Feed): Promise<void> {
  // @ts-expect-error -- the request has a string, and the page a number
  await feed.fill(({ cursor }: PageRequest) => Promise.resolve({ items: [{ id: cursor ?? "a" }], next: 7 }), 5);
}
