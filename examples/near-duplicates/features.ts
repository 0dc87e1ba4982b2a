/**
 * The features of a text for `simhash`: its words, each weighted by how often it occurs.
 *
 * `Intl.Segmenter` finds words by the rules of Unicode (UAX #29), and by dictionaries in Chinese, Japanese, Thai and
 * other scripts that put no spaces between words. Nothing has to be known about the text's language.
 *
 * Words as often as they occur find more edited copies than distinct words, pairs of words or longer shingles do:
 * docs/near-duplicates.md has the measurement. The frequent words, which an edit seldom changes, steady the
 * fingerprint.
 */
const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/** The words of a text in order, without what typography and capitals change. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  // Line by line, as the segmenter slows down on long strings.
  for (const line of normalized(text).split("\n"))
    for (const { segment, isWordLike } of segmenter.segment(line)) if (isWordLike) words.push(segment);
  return words;
}

/** Each distinct word of a text, and how often it occurs. */
export function featuresOf(words: Iterable<string>): Map<string, number> {
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
