/** Edits of a text from one publisher to the next, by rule. */
import type { Random } from "../../www/server/random.ts";

/** A part of a text: a word, or what stands between two words. */
export interface Part {
  readonly text: string;
  readonly isWord: boolean;
}

type Parts = readonly Part[];

export interface EditRule {
  readonly name: string;
  /** The text that is edited, where the rule needs something in it. */
  readonly original?: (parts: Parts) => Parts;
  readonly edit: (parts: Parts, random: Random) => Parts;
}

const segmenter = new Intl.Segmenter("und", { granularity: "word" });

export function partsOf(text: string): Part[] {
  return text
    .split(/(?<=\n)/)
    .flatMap((line) =>
      Array.from(segmenter.segment(line), ({ segment, isWordLike = false }) => ({ text: segment, isWord: isWordLike })),
    );
}

export function textOf(parts: Parts): string {
  return parts.map(({ text }) => text).join("");
}

const TYPOGRAPHY: EditRule = {
  name: "capitals, quotes and dashes changed",
  edit: (parts) =>
    parts.map(({ text, isWord }) => ({
      text: text.toUpperCase().replaceAll("'", "’").replaceAll('"', "”").replaceAll("-", "–"),
      isWord,
    })),
};

export const TITLE_RULES: readonly EditRule[] = [
  TYPOGRAPHY,
  { name: "two words swapped", edit: swapTwoWords },
  { name: "a word dropped", edit: (parts, random) => change(parts, aWord(parts, random), () => "") },
  { name: "a word added", edit: (parts) => [between("Explained: "), ...parts] },
  {
    name: "a word misspelt",
    edit: (parts, random) => change(parts, aWord(parts, random), (word) => misspelt(word, random)),
  },
  {
    name: "byline changed",
    original: (parts) => [...parts, between(" | The Morning Heron")],
    edit: (parts) => [...parts, between(" | Otter Weekly")],
  },
];

const FOOTER =
  "\nThis story was first published by the Otter Weekly. Subscribe to our newsletter and never miss another one again.";

export const TEXT_RULES: readonly EditRule[] = [
  TYPOGRAPHY,
  { name: "halves swapped", edit: swapHalves },
  {
    name: "byline changed",
    original: (parts) => [between("By Ada Heron for The Morning Heron\n"), ...parts],
    edit: (parts) => [between("By Jo Vole, Otter Weekly\n"), ...parts],
  },
  {
    name: "1 word in 100 misspelt",
    edit: (parts, random) => change(parts, someWords(parts, 100, random), (word) => misspelt(word, random)),
  },
  {
    name: "1 word in 50 dropped",
    edit: (parts, random) => change(parts, someWords(parts, 50, random), () => ""),
  },
  {
    name: "1 word in 50 added",
    edit: (parts, random) => change(parts, someWords(parts, 50, random), (word) => `${word} ${newWord(random)}`),
  },
  {
    name: "1 word in 20 replaced",
    edit: (parts, random) => change(parts, someWords(parts, 20, random), () => ` ${newWord(random)} `),
  },
  { name: "a footer of 18 words added", edit: (parts) => [...parts, between(FOOTER)] },
  { name: "last tenth cut off", edit: (parts) => parts.slice(0, parts.length * 0.9) },
];

/** Words of a part that is added are counted once the text is put together. */
const between = (text: string): Part => ({ text, isWord: false });

function change(parts: Parts, chosen: ReadonlySet<Part>, edit: (word: string) => string): Parts {
  return parts.map((part) => (chosen.has(part) ? { ...part, text: edit(part.text) } : part));
}

/** One word in `rarity`, but at least one. */
function someWords(parts: Parts, rarity: number, random: Random): ReadonlySet<Part> {
  const words = parts.filter(({ isWord }) => isWord);
  const count = Math.max(1, Math.round(words.length / rarity));
  const chosen = Array.from({ length: count }, () => words[Math.floor(random() * words.length)]);
  return new Set(chosen.filter((word) => word !== undefined));
}

const aWord = (parts: Parts, random: Random): ReadonlySet<Part> => someWords(parts, Infinity, random);

/** A word that the text does not have. */
function newWord(random: Random): string {
  return `n${Math.floor(random() * 36 ** 5).toString(36)}`;
}

/** With a letter doubled. */
function misspelt(word: string, random: Random): string {
  const letters = Array.from(word);
  const at = Math.floor(random() * letters.length);
  return letters.toSpliced(at, 0, letters[at] ?? "").join("");
}

function swapTwoWords(parts: Parts, random: Random): Parts {
  const words = parts.filter(({ isWord }) => isWord);
  const at = Math.floor(random() * (words.length - 1));
  const [one, other] = words.slice(at, at + 2);
  if (one === undefined || other === undefined) return parts;
  return parts.map((part) => (part === one ? other : part === other ? one : part));
}

function swapHalves(parts: Parts): Parts {
  const middle = Math.floor(parts.length / 2);
  return [...parts.slice(middle), between("\n"), ...parts.slice(0, middle)];
}
