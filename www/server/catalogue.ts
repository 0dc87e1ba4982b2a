/**
 * The items of the demo: a thousand real article titles, out of the addresses in `www/data/wiki-urls-10000`, and
 * copies of some of them: reposts, and copies that another publisher has edited.
 *
 * An item's id is a hash of its address, so it does not depend on the rest of the catalogue. The server finds copies as they
 * arrive: a repost by its address, an edited copy by the Simhash of its text.
 */
import { canonicalAddress, StoryGroups } from "./stories.ts";
import { editedText, textOf } from "./texts.ts";

/** One item of the feed, as it goes over the wire. */
export interface Item {
  readonly id: string;
  readonly title: string;
  readonly url: string;
  /** Who published it, if that is not Wikipedia, which has the article. */
  readonly publisher?: string;
  /** Only of a copy: the first item of its group to arrive, and how the server found it. */
  readonly copyOf?: { readonly id: string; readonly title: string; readonly by: "address" | "text" };
}

/** The id that an item has on the server: its group's, which is that of the first item in it. */
export function groupIdOf({ id, copyOf }: Item): string {
  return copyOf?.id ?? id;
}

/** An item as it arrives from a publisher. */
interface ArrivingItem extends Item {
  readonly text: string;
}

const ARTICLES = 1000;
const ONE_COPIED_IN = 4;
const PUBLISHERS = ["The Morning Heron", "Otter Weekly", "Notes of a Vole"];
const EDITED_TITLES = [
  (title: string) => `${title}, explained`,
  (title: string) => `What to know about ${title}`,
  (title: string) => `${title}: a short guide`,
];

/** Pages about pages, which would look odd in a feed. */
const NO_ARTICLE = /^(Special|Category|Talk|Template|User|Wikipedia|Portal|File|Image|Help|MediaWiki)(_talk)?:/;

/** Titles that are unsuitable for a demo at work. */
const NOT_FOR_A_DEMO =
  /xxx|porn|\bsex(ual|y)?\b|fetish|\brape\b|prostitut|vagina|breast|murder|massacre|killing|suicide|nazi|hitler/i;

/** The catalogue from lines of addresses: the arriving items, grouped. */
export async function catalogueOf(addresses: string): Promise<Item[]> {
  return grouped(await arrivingOf(addresses));
}

/** The arriving items: the articles, in pseudorandom order, then the copies. */
async function arrivingOf(addresses: string): Promise<ArrivingItem[]> {
  const items = await articlesOf(addresses);
  const vocabulary = items.flatMap(({ title }) => title.match(/\p{L}{4,}/gu) ?? []);
  const articles = items.map((item) => ({ ...item, text: textOf(item.id, vocabulary) }));
  const copied = (remainder: number): ArrivingItem[] =>
    articles.filter((_, index) => index % ONE_COPIED_IN === remainder);
  const copies = [
    ...copied(0).map(repostOf),
    ...copied(2).map((article, number) => editedCopyOf(article, number, vocabulary)),
  ];
  return [...articles, ...(await Promise.all(copies))];
}

/** Groups items in the order in which they arrive. */
async function grouped(arriving: readonly ArrivingItem[]): Promise<Item[]> {
  const groups = await StoryGroups.create();
  const first = new Map<string, Item>();
  const items = arriving.map((arrived): Item => {
    const { text: _, ...item } = arrived;
    const original = first.get(groups.groupOf(arrived));
    if (original === undefined) {
      first.set(item.id, item);
      return item;
    }
    const by = canonicalAddress(original.url) === canonicalAddress(item.url) ? "address" : "text";
    return { ...item, copyOf: { id: original.id, title: original.title, by } };
  });
  groups.free();
  return items;
}

async function articlesOf(addresses: string): Promise<Item[]> {
  const titled = addresses.split("\n").flatMap((url) => {
    const title = titleOf(url);
    return title === undefined ? [] : [{ title, url }];
  });
  const items = new Map<string, Item>();
  const ids = await Promise.all(titled.map(({ url }) => idOf(url)));
  for (const [index, { title, url }] of titled.entries()) {
    const id = ids[index] ?? "";
    items.set(id, { id, title, url: url.replace(/^http:/, "https:") });
  }
  return [...items.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, ARTICLES);
}

/** A repost of an article: the same text at an address with tracking parameters. */
async function repostOf(article: ArrivingItem, number: number): Promise<ArrivingItem> {
  const publisher = publisherOf(number);
  const url = `${article.url}?utm_source=${slugOf(publisher)}`;
  return { ...article, id: await idOf(url), url, publisher };
}

/** A page of the publisher's own. */
async function editedCopyOf(
  article: ArrivingItem,
  number: number,
  vocabulary: readonly string[],
): Promise<ArrivingItem> {
  const publisher = publisherOf(number);
  const url = `https://${slugOf(publisher)}.example/${article.id}`;
  const title = EDITED_TITLES[Math.floor(number / PUBLISHERS.length) % EDITED_TITLES.length]?.(article.title) ?? "";
  return { id: await idOf(url), title, url, publisher, text: editedText(article.text, publisher, vocabulary) };
}

function publisherOf(number: number): string {
  return PUBLISHERS[number % PUBLISHERS.length] ?? "";
}

function slugOf(publisher: string): string {
  return publisher.toLowerCase().replaceAll(" ", "-");
}

/** 8 characters of base64url: 48 bits, so that a collision among 10,000 has a chance of 2 in 10 million. */
function idOf(url: string): Promise<string> {
  return digestOf(url, 8);
}

/** The first characters of a string's SHA-256 in base64url. */
export async function digestOf(text: string, characters: number): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(digest)));
  return base64.replaceAll("+", "-").replaceAll("/", "_").slice(0, characters);
}

/** The article's title; `undefined` if the address is not of an article that is suitable for the demo. */
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
