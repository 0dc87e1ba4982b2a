/**
 * The items of the demo: a few thousand real article titles, read out of `www/data/wiki-urls-10000`, and reposts of some
 * of them.
 *
 * An item's id is a hash of its address, so it stays the same whatever else the catalogue holds. A repost is an item
 * with an id of its own, and carries its original's beside it.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** One item of the feed, as it goes over the wire. */
export interface Item {
  readonly id: string;
  readonly title: string;
  readonly url: string;
  /** Only of a repost: the id of the item that it repeats. */
  readonly original?: string;
  /** Only of a repost. */
  readonly repostedBy?: string;
}

/** All ids of an item: who has seen the original has seen its reposts. */
export function idsOf({ id, original }: Item): readonly string[] {
  return original === undefined ? [id] : [id, original];
}

const ARTICLES = 4000;
const ONE_REPOSTED_IN = 4;
const REPOSTERS = ["The Morning Heron", "Otter Weekly", "Notes of a Vole"];
const SOURCE = new URL("../data/wiki-urls-10000", import.meta.url);

/** Pages about pages, which would look odd in a feed. */
const NO_ARTICLE = /^(Special|Category|Talk|Template|User|Wikipedia|Portal|File|Image|Help|MediaWiki)(_talk)?:/;

/** Titles that nobody wants on the screen while showing a demo to colleagues. */
const NOT_FOR_A_DEMO =
  /xxx|porn|\bsex(ual|y)?\b|fetish|\brape\b|prostitut|vagina|breast|murder|massacre|killing|suicide|nazi|hitler/i;

/** Reads the catalogue, in an order that has nothing to do with the alphabet. */
export function readCatalogue(): Item[] {
  const items = new Map<string, Item>();
  for (const url of readFileSync(SOURCE, "utf8").split("\n")) {
    const title = titleOf(url);
    if (title === undefined) continue;
    const id = idOf(url);
    const other = items.get(id);
    if (other !== undefined && other.url !== url) throw new Error(`two items have the id ${id}: ${other.url}, ${url}`);
    items.set(id, { id, title, url: url.replace(/^http:/, "https:") });
  }
  const articles = [...items.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, ARTICLES);
  return [...articles, ...articles.filter((_, place) => place % ONE_REPOSTED_IN === 0).map(repostOf)];
}

function repostOf(article: Item, number: number): Item {
  const repostedBy = REPOSTERS[number % REPOSTERS.length] ?? "";
  return { ...article, id: idOf(`repost of ${article.url}`), original: article.id, repostedBy };
}

/** 8 characters of base64url: 48 bits, so that two of 10,000 meet with a chance of 2 in 10 million. */
function idOf(url: string): string {
  return createHash("sha256").update(url).digest("base64url").slice(0, 8);
}

/** The article's title, or nothing where the address names no article that is fit to be shown. */
function titleOf(url: string): string | undefined {
  const name = /\/wiki\/([^?#]+)$/.exec(url)?.[1];
  if (name === undefined || NO_ARTICLE.test(name)) return undefined;
  const title = decoded(name)?.replaceAll("_", " ").trim();
  if (title === undefined || title.length < 3 || title.length > 64) return undefined;
  if (NOT_FOR_A_DEMO.test(title)) return undefined;
  return /\p{L}{2}/u.test(title) && !/[\p{C}\uFFFD]/u.test(title) ? title : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // percent signs that encode no UTF-8
  }
}
