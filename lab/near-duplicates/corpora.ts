/**
 * The texts that are measured: titles from the demo's data, the documentation of Node in the comments of `@types/node`,
 * the Chinese messages of `typescript`, and licences that are made of this project's own. Their order, and so every
 * random choice, depends on nothing but these files.
 */
import { readdirSync, readFileSync } from "node:fs";
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

/** Of a corpus that is larger, so many are taken, and so many edited. */
const MOST = 1000;
const MOST_EDITED = 200;
/** So that one measurement does not take much longer than another. */
const MOST_WORDS = 60_000;

/** Titles of Wikipedia's articles, by their number of words. */
export function titles(): Corpus[] {
  const all = articleTitles();
  return [
    short("titles: 2 or 3", all, (count) => count === 2 || count === 3),
    short("titles: 4 to 6", all, (count) => count >= 4 && count <= 6),
    short("titles: 7 or more", all, (count) => count >= 7),
  ];
}

/** Passages of Node's documentation: each paragraph is in one text alone. */
export function documentation(words: number): Corpus {
  return passages(`${words.toLocaleString("en")} words`, paragraphsByModule(), words);
}

/** The Chinese messages of the TypeScript compiler. */
export function chineseMessages(): Corpus {
  return short("Chinese: 7 to 20", messages(), (count) => count >= 7 && count <= 20);
}

/** Such messages joined into longer texts. */
export function chinese(words: number): Corpus {
  return passages(`Chinese, ${String(words)} words`, [messages()], words);
}

/** Texts from a template: MIT licences, which differ by the year and the holder. */
export function licences(): Corpus {
  const template = read("LICENSE-MIT");
  const random = randomOf(4);
  const texts = articleTitles()
    .slice(0, 300)
    .map((holder) => `Copyright (c) ${String(1990 + Math.floor(35 * random()))} ${holder}\n\n${template}`);
  return short("MIT licences", texts, () => true);
}

function short(name: string, texts: readonly string[], fits: (words: number) => boolean): Corpus {
  const all = distinct(texts.filter((text) => fits(wordsOf(text).length)));
  return { name, all, texts: all.slice(0, MOST) };
}

/** Paragraphs of one document after the other, joined until they have so many words, and cut off there. */
function passages(name: string, documents: readonly (readonly string[])[], words: number): Corpus {
  const texts = documents.flatMap((paragraphs) => {
    const passages: string[] = [];
    let begun: string[] = [];
    let count = 0;
    for (const paragraph of paragraphs) {
      begun.push(paragraph);
      count += wordsOf(paragraph).length;
      if (count < words) continue;
      passages.push(firstWords(begun.join("\n"), words));
      begun = [];
      count = 0;
    }
    return passages;
  });
  const all = distinct(texts).slice(0, MOST);
  return { name, all, texts: all.slice(0, Math.min(MOST_EDITED, MOST_WORDS / words)) };
}

function distinct(texts: readonly string[]): string[] {
  const byWords = new Map(texts.map((text) => [wordsOf(text).toSorted().join(" "), text]));
  return shuffled([...byWords.values()], randomOf(3));
}

function firstWords(text: string, count: number): string {
  let left = count;
  const beginning: string[] = [];
  for (const part of partsOf(text)) {
    if (left === 0) break;
    if (part.isWord) left -= 1;
    beginning.push(part.text);
  }
  return beginning.join("");
}

function articleTitles(): string[] {
  return read("www/data/wiki-urls-10000").split("\n").flatMap(titleOf);
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

/** Shorter ones are headings and signatures. */
const LEAST_WORDS_OF_A_PARAGRAPH = 8;

/** The paragraphs of the comments of each file, each paragraph once; read once. */
function paragraphsByModule(): readonly (readonly string[])[] {
  return (readParagraphs ??= (() => {
    const known = new Set<string>();
    const files = readdirSync(inProject("node_modules/@types/node"), { recursive: true, encoding: "utf8" });
    const modules = files.filter((file) => file.endsWith(".d.ts")).sort();
    return modules.map((file) =>
      commentsOf(read(`node_modules/@types/node/${file}`))
        .flatMap((comment) => plainText(comment).split(/\n\s*\n/))
        .map((paragraph) => paragraph.trim().replaceAll(/\s+/g, " "))
        .filter((paragraph) => {
          const isNew = !known.has(paragraph);
          known.add(paragraph);
          return isNew && wordsOf(paragraph).length >= LEAST_WORDS_OF_A_PARAGRAPH;
        }),
    );
  })());
}
let readParagraphs: readonly (readonly string[])[] | undefined;

function commentsOf(declarations: string): string[] {
  const comments = declarations.matchAll(/\/\*\*([^]*?)\*\//g);
  return [...comments].map(([, comment = ""]) => comment.replaceAll(/^\s*\* ?/gm, ""));
}

/** Without code, tags and addresses. */
function plainText(markdown: string): string {
  return markdown
    .replaceAll(/^(`{3,})[^]*?^\1.*$/gm, "")
    .replaceAll(/^@.*$/gm, "")
    .replaceAll(/\{@link ([^}]*)\}/g, "$1")
    .replaceAll(/\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replaceAll(/https?:\/\/\S+/g, " ")
    .replaceAll(/[`*_#>|]+/g, " ");
}

function read(path: string): string {
  return readFileSync(inProject(path), "utf8");
}
