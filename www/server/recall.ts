/**
 * The recommender behind the demo: which items a person is offered.
 *
 * It does what real recall does. Each person has a ranking of the whole catalogue; what the server knows as seen is
 * left out of it, and a page is drawn mostly from the few best that remain and partly from a wider pool. So an item
 * that is good for a person is offered again and again until the server knows that it was seen: while the stream
 * of impressions lags, that is a repeat. A repost is ranked next to its original, and is left out once either was seen.
 *
 * From a small pool nothing is left out: where nearly all was seen, old items are better than none.
 *
 * Everything is drawn from a seeded generator: the same person, turn and state of the server give the same page.
 */
import type { Item } from "./catalogue.ts";

/** The best that remain; they make up `HOT_SHARE` of a page. */
const HOT_POOL = 18;
const HOT_SHARE = 0.6;
/** Where the rest of a page comes from. */
const WIDE_POOL = 500;
/** As many items as a small pool has. */
const SMALL_POOL = 24;

/** Leaves the items that the server does not know as seen, in their order. */
export type ExposureFilter = (items: readonly Item[]) => Item[];

/** One page of `size` items for `user`: fewer when hardly anything is left unseen. */
export function recallPage(
  catalogue: readonly Item[],
  user: string,
  turn: number,
  size: number,
  unseen: ExposureFilter,
): Item[] {
  // Articles and reposts come from sources of their own, each filtered by itself: a page may well have both of a pair.
  const reposts = catalogue.filter(({ original }) => original !== undefined);
  const fresh = new Set([articlesOf(catalogue), reposts].flatMap(unseen));
  const candidates = rankingFor(user, catalogue).filter((item) => fresh.has(item));
  const random = randomFrom(`page ${user} ${String(turn)}`);
  const hot = shuffled(candidates.slice(0, HOT_POOL), random).slice(0, Math.round(size * HOT_SHARE));
  const wide = shuffled(candidates.slice(HOT_POOL, HOT_POOL + WIDE_POOL), random).slice(0, size - hot.length);
  return shuffled([...hot, ...wide], random);
}

/** A small pool, the best for `user` first. */
export function poolOf(catalogue: readonly Item[], user: string): Item[] {
  return rankingFor(user, articlesOf(catalogue)).slice(0, SMALL_POOL);
}

/** The best for this person first, each with its reposts behind it. */
function rankingFor(user: string, catalogue: readonly Item[]): Item[] {
  const reposts = new Map<string, Item[]>();
  for (const item of catalogue)
    if (item.original !== undefined) reposts.set(item.original, [...(reposts.get(item.original) ?? []), item]);
  return shuffled(articlesOf(catalogue), randomFrom(`ranking ${user}`)).flatMap((article) => [
    article,
    ...(reposts.get(article.id) ?? []),
  ]);
}

function articlesOf(catalogue: readonly Item[]): Item[] {
  return catalogue.filter(({ original }) => original === undefined);
}

/** A copy in an order drawn from `random` (Fisher and Yates). */
function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    const moved = order[last] as T;
    order[last] = order[other] as T;
    order[other] = moved;
  }
  return order;
}

/** Numbers from 0 to below 1 that depend on `seed` alone: mulberry32, started from the text's FNV-1a hash. */
function randomFrom(seed: string): () => number {
  let state = 0x811c9dc5;
  for (let at = 0; at < seed.length; at++) state = Math.imul(state ^ seed.charCodeAt(at), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
