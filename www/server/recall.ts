/**
 * The recommender of the demo: it selects the items that a person is offered.
 *
 * It works like a real recall stage. Each person has a ranking of the whole catalogue; items in the server's chain are left
 * out, and a page is drawn mostly from the few best that remain and partly from a wider pool. So an item that ranks high is
 * offered again and again until its impression has reached the chain: while the stream lags, that is a repeat. A copy is
 * ranked next to its original, and is left out once either was seen.
 *
 * From a small pool nothing is left out: if nearly all was seen, seen items are better than none.
 *
 * Everything is drawn from a seeded generator: the same person, turn and state of the server give the same page.
 */
import type { Item } from "./catalogue.ts";
import { randomOfText, shuffled } from "./random.ts";

/** The best remaining items, which make up `HOT_SHARE` of a page. */
const HOT_POOL = 18;
const HOT_SHARE = 0.6;
/** The next items, for the rest of a page. */
const WIDE_POOL = 500;
/** The number of items in a small pool. */
const SMALL_POOL = 24;

/** Returns the items that the server's chain does not contain, in their order. */
export type ExposureFilter = (items: readonly Item[]) => Item[];

/** One page of `size` items for `user`, or fewer if nearly all was seen. */
export function recallPage(
  catalogue: readonly Item[],
  user: string,
  turn: number,
  size: number,
  unseen: ExposureFilter,
): Item[] {
  // Articles and copies come from sources of their own, each filtered by itself: a page may well have both of a pair.
  const { articles, copies } = sourcesOf(catalogue);
  const fresh = new Set([articles, copies].flatMap(unseen));
  const candidates = rankingFor(user, catalogue).filter((item) => fresh.has(item));
  const random = randomOfText(`page ${user} ${String(turn)}`);
  const hot = shuffled(candidates.slice(0, HOT_POOL), random).slice(0, Math.round(size * HOT_SHARE));
  const wide = shuffled(candidates.slice(HOT_POOL, HOT_POOL + WIDE_POOL), random).slice(0, size - hot.length);
  return shuffled([...hot, ...wide], random);
}

/** A small pool, the best for `user` first. */
export function poolOf(catalogue: readonly Item[], user: string): Item[] {
  return rankedArticles(user, sourcesOf(catalogue)).slice(0, SMALL_POOL);
}

/** The best for this person first, each followed by its copies. */
function rankingFor(user: string, catalogue: readonly Item[]): Item[] {
  const sources = sourcesOf(catalogue);
  return rankedArticles(user, sources).flatMap((article) => [article, ...(sources.copiesOf.get(article.id) ?? [])]);
}

function rankedArticles(user: string, { articles }: Sources): Item[] {
  return shuffled(articles, randomOfText(`ranking ${user}`));
}

/** The catalogue's articles and copies. */
interface Sources {
  readonly articles: readonly Item[];
  readonly copies: readonly Item[];
  /** By the article's id. */
  readonly copiesOf: ReadonlyMap<string, readonly Item[]>;
}

/** Cached: a catalogue does not change, and dividing it takes longer than ranking it. */
const sources = new WeakMap<readonly Item[], Sources>();

function sourcesOf(catalogue: readonly Item[]): Sources {
  const known = sources.get(catalogue);
  if (known !== undefined) return known;
  const copiesOf = new Map<string, Item[]>();
  for (const item of catalogue)
    if (item.copyOf !== undefined) copiesOf.set(item.copyOf.id, [...(copiesOf.get(item.copyOf.id) ?? []), item]);
  const found: Sources = {
    articles: catalogue.filter(({ copyOf }) => copyOf === undefined),
    copies: catalogue.filter(({ copyOf }) => copyOf !== undefined),
    copiesOf,
  };
  sources.set(catalogue, found);
  return found;
}
