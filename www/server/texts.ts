/**
 * Stand-ins for the articles' texts, which the data does not have: words of the catalogue's titles, some of them often, as an
 * article repeats its subject. They are not shown; the server finds edited copies by them.
 */
import { randomOfText, type Random } from "./random.ts";

const WORDS = 120;
/** Distinct words of a text. */
const TOPIC_WORDS = 60;
/** The number of words that another publisher changes. */
const CHANGED_WORDS = 2;

/** The text of the item with this id. `vocabulary`: the words to draw from, with repetition. */
export function textOf(id: string, vocabulary: readonly string[]): string {
  const random = randomOfText(`text ${id}`);
  const topic = Array.from({ length: TOPIC_WORDS }, () => anyOf(vocabulary, random));
  // As in real texts, some of the words are frequent.
  const words = Array.from({ length: WORDS }, () => topic[Math.floor(TOPIC_WORDS * random() ** 2)] ?? "");
  return words.join(" ");
}

/** The text as another publisher prints it: some words replaced, and its halves swapped. */
export function editedText(text: string, publisher: string, vocabulary: readonly string[]): string {
  const random = randomOfText(`edit of ${publisher} ${text}`);
  const words = text.split(" ");
  for (let change = 0; change < CHANGED_WORDS; change++)
    words[Math.floor(random() * words.length)] = anyOf(vocabulary, random);
  const middle = Math.floor(words.length / 2);
  return [...words.slice(middle), ...words.slice(0, middle)].join(" ");
}

function anyOf(words: readonly string[], random: Random): string {
  return words[Math.floor(random() * words.length)] ?? "";
}
