/**
 * Groups stories that are copies of each other, in the order in which they arrive.
 *
 * A repost is found by its canonical address, an edited copy by the Simhash of its text. A text too short for that is
 * compared by its words alone.
 */
import { NearDuplicates, simhash } from "seenguard/near-duplicates";

interface Story {
  readonly id: string;
  readonly url: string;
  /** The whole text: a title alone is too short to distinguish an edited copy from another story. */
  readonly text: string;
  /** The group of a story that was grouped before, such as before a restart of the process. */
  readonly group?: string;
}

/** Shorter texts must have the same words: docs/near-duplicates.md has Simhash's results for each length. */
const MIN_WORDS = 100;

export class StoryGroups {
  private readonly byAddress = new Map<string, string>();
  private readonly byWords = new Map<string, string>();

  private constructor(private readonly nearDuplicates: NearDuplicates) {}

  static async create(): Promise<StoryGroups> {
    return new StoryGroups(await NearDuplicates.create({ distance: 3 }));
  }

  /** The id of the story's group: that of its first member. Use it as the item's second id. */
  groupOf({ id, url, text, group = id }: Story): string {
    const address = canonicalAddress(url);
    const found = this.byAddress.get(address) ?? this.groupByText(group, text);
    this.byAddress.set(address, found);
    return found;
  }

  free(): void {
    this.nearDuplicates.free();
  }

  private groupByText(newGroup: string, text: string): string {
    const words = wordsOf(text);
    if (words.length >= MIN_WORDS) return this.nearDuplicates.groupOf(simhash(featuresOf(words)), newGroup);
    const key = words.join(" ");
    const group = this.byWords.get(key) ?? newGroup;
    if (words.length > 0) this.byWords.set(key, group);
    return group;
  }
}

/** An address without the parts that share buttons and phones add. If a page has a canonical address, use that one. */
export function canonicalAddress(url: string): string {
  if (!URL.canParse(url)) return url;
  const address = new URL(url);
  address.protocol = "https:";
  address.hash = "";
  address.hostname = address.hostname.replace(/^(www|m|amp)\./, "");
  for (const name of [...address.searchParams.keys()])
    if (/^(utm_.*|fbclid|gclid)$/.test(name)) address.searchParams.delete(name);
  address.searchParams.sort();
  return address.href.replace(/\/$/, "");
}

/** By the rules of Unicode (UAX #29), and by dictionaries in scripts that put no spaces between words. */
const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/** The words of a text in order, independent of typography and capitals. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  // Line by line, as the segmenter slows down on long strings.
  for (const line of normalized(text).split("\n"))
    for (const { segment, isWordLike } of segmenter.segment(line)) if (isWordLike) words.push(segment);
  return words;
}

/** Each distinct word of a text, and how often it occurs: its weight in the fingerprint. */
function featuresOf(words: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** NFKC (full-width forms, ligatures), lower case, straight apostrophes, no invisible format characters. */
function normalized(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll("’", "'")
    .replaceAll(/\p{Cf}/gu, "");
}
