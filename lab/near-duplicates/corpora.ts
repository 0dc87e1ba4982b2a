/**
 * The texts that are measured: titles from the demo's data, and what packages carry that package-lock.json pins. Their
 * order, and so every random choice, depends on nothing but these files.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { inProject } from "../../scripts/lib/paths.mjs";
import { randomOf, shuffled } from "../../www/server/random.ts";
import { wordsOf } from "../../examples/near-duplicates/features.ts";
import { partsOf } from "./edits.ts";

export interface Corpus {
  readonly name: string;
  /** No two of them have the same words. */
  readonly all: readonly string[];
  /** Some of them, where there are many: those that are edited. */
  readonly texts: readonly string[];
}

/** Of a corpus that is larger, so many are edited. */
const MOST_TITLES = 1000;
const MOST_TEXTS = 200;
/** So that one measurement does not take much longer than another. */
const MOST_WORDS = 60_000;

/** Titles of Wikipedia's articles, by their number of words. */
export function titles(): Corpus[] {
  const all = read("www/data/wiki-urls-10000").split("\n").flatMap(titleOf);
  return [
    corpus("titles of 2 or 3 words", all, (count) => count === 2 || count === 3),
    corpus("titles of 4 to 6 words", all, (count) => count >= 4 && count <= 6),
    corpus("titles of 7 words and more", all, (count) => count >= 7),
  ];
}

/** Documentation of packages in English, without code and markup, cut off after so many words. */
export function documentation(words: number): Corpus {
  return beginnings(`${words.toLocaleString("en")} words`, pages(), words);
}

/** The Chinese messages of the TypeScript compiler. */
export function chineseMessages(): Corpus {
  return corpus("Chinese, 7 to 20 words", messages(), (count) => count >= 7 && count <= 20);
}

/** Such messages joined into longer texts: each message is in one text alone. */
export function chinese(words: number): Corpus {
  const texts: string[] = [];
  let text = "";
  let count = 0;
  for (const message of messages()) {
    text += `${message}\n`;
    count += wordsOf(message).length;
    if (count < words) continue;
    texts.push(text);
    text = "";
    count = 0;
  }
  return beginnings(`Chinese, ${words} words`, texts, words);
}

/** Texts from a template: MIT licences, which differ by the year and the holder. */
export function licences(): Corpus {
  const texts = packages().flatMap((path) => filesIn(path, /^licen[cs]e(-mit)?(\.md|\.txt)?$/i).map(read));
  const isMit = (text: string): boolean => /permission is hereby granted, free of charge/i.test(text);
  return corpus("MIT licences", texts.filter(isMit), (count) => count < 200);
}

function corpus(name: string, texts: readonly string[], fits: (words: number) => boolean): Corpus {
  const distinct = new Map<string, string>();
  for (const text of texts) {
    const words = wordsOf(text);
    if (fits(words.length)) distinct.set(words.toSorted().join(" "), text);
  }
  const all = shuffled([...distinct.values()], randomOf(3));
  return { name, all, texts: all.slice(0, MOST_TITLES) };
}

/** Of the texts that are as long: their beginnings. */
function beginnings(name: string, texts: readonly string[], words: number): Corpus {
  const { all } = corpus(
    name,
    texts.map((text) => firstWords(text, words)),
    (count) => count === words,
  );
  return { name, all, texts: all.slice(0, Math.min(MOST_TEXTS, MOST_WORDS / words)) };
}

function firstWords(text: string, count: number): string {
  let left = count;
  const beginning: string[] = [];
  // Longer words than that there are hardly any.
  for (const part of partsOf(text.slice(0, 20 * count))) {
    if (left === 0) break;
    if (part.isWord) left -= 1;
    beginning.push(part.text);
  }
  return beginning.join("");
}

function titleOf(url: string): string[] {
  const name = /\/wiki\/([^?#:]+)$/.exec(url)?.[1];
  if (name === undefined) return [];
  try {
    return [decodeURIComponent(name).replaceAll("_", " ")];
  } catch {
    return []; // percent signs that encode no UTF-8
  }
}

function messages(): string[] {
  const all = JSON.parse(read("node_modules/typescript/lib/zh-cn/diagnosticMessages.generated.json")) as object;
  return Object.values(all).filter((message): message is string => typeof message === "string");
}

/** The text of each page of documentation; read once. */
function pages(): readonly string[] {
  return (readPages ??= packages().flatMap(markdownIn).map(plainText));
}
let readPages: readonly string[] | undefined;

/** Where packages are that are installed on every machine: the optional ones depend on the platform. */
function packages(): string[] {
  const { packages: locked } = JSON.parse(read("package-lock.json")) as {
    packages: Record<string, { optional?: boolean; devOptional?: boolean }>;
  };
  return Object.entries(locked)
    .filter(
      ([path, { optional, devOptional }]) => /^node_modules\/[^/]+(\/[^/]+)?$/.test(path) && !optional && !devOptional,
    )
    .map(([path]) => path)
    .sort();
}

/** A package's README and its guides. */
function markdownIn(path: string): string[] {
  return [...filesIn(path, /^readme\.md$/i), ...filesIn(`${path}/docs`, /\.md$/, true)].map(read);
}

function filesIn(path: string, name: RegExp, recursive = false): string[] {
  if (!existsSync(inProject(path))) return [];
  const files = readdirSync(inProject(path), { recursive, encoding: "utf8" }).filter((file) => name.test(file));
  return files.sort().map((file) => `${path}/${file}`);
}

/** What people read of a page in Markdown. */
function plainText(markdown: string): string {
  return markdown
    .replace(/^---\n[^]*?\n---\n/, "")
    .replaceAll(/^(`{3,}|~{3,})[^]*?^\1.*$/gm, "")
    .replaceAll(/<!--[^]*?-->|<[^>]+>/g, " ")
    .replaceAll(/!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])/g, " ")
    .replaceAll(/\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replaceAll(/^\[[^\]]+\]:.*$/gm, "")
    .replaceAll(/https?:\/\/\S+|&\w+;/g, " ")
    .replaceAll(/[`*_#>|]+/g, " ");
}

function read(path: string): string {
  return readFileSync(inProject(path), "utf8");
}
