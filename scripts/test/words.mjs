/**
 * Words that the project does not use, because a reader would have to learn what they mean here: words.json has a
 * pattern for each. Patterns are added, never removed: a word that has a proper use elsewhere has none.
 *
 *     node scripts/test/words.mjs      fails where a file has one
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { readIfThere } from "../lib/files.mjs";
import { inProject, root } from "../lib/paths.mjs";
import { CommandFailed } from "../lib/run.mjs";
import { main } from "../setup.mjs";

/** @typedef {Readonly<Record<string, string>>} Patterns by name; each matches text in small letters, see `plain` */
/** @typedef {{ readonly path: string, readonly text: string }} File */

const path = inProject("scripts", "test", "words.json");

/** What people write: data and lock files are not. */
const isWritten = (/** @type {string} */ name) =>
  /\.([cm]?[jt]sx?|rs|md|toml|ya?ml|html|css|svelte|vue|py|go|java|sh)$/.test(name) &&
  !/^(THIRD-PARTY-LICENSES\.md|tests\/vectors\/)/.test(name);

/**
 * A text as sentences: the words of names apart, no signs of comments at the beginning of lines, no line ends.
 * @param {string} text
 */
const plain = (text) =>
  text
    .replaceAll(/\n\s*(\/\/[/!]?|\*|#|>|-)?\s*/g, " ")
    .replaceAll(/(?<=[a-z])(?=[A-Z])|[\s_-]+/g, " ")
    .toLowerCase();

/** Characters that are shown before and after a word. */
const AROUND = 40;

/**
 * Each place that has such a word, one a line.
 * @param {Patterns} patterns
 * @param {readonly File[]} files
 */
export function findWords(patterns, files) {
  return files.flatMap(({ path, text }) => {
    const words = plain(text);
    return Object.entries(patterns).flatMap(([name, pattern]) =>
      [...words.matchAll(new RegExp(pattern, "g"))].map(({ index }) => {
        const excerpt = words.slice(Math.max(0, index - AROUND), index + name.length + AROUND).trim();
        return `${path}: "${name}" in "${excerpt}"`;
      }),
    );
  });
}

/** @returns {File[]} */
const writtenFiles = () =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
    .toString()
    .split("\n")
    .filter(isWritten)
    .flatMap((path) => {
      // One that was removed is still listed until that is committed.
      const text = readIfThere(inProject(path))?.toString();
      return text === undefined ? [] : [{ path, text }];
    });

export function checkWords() {
  const patterns = /** @type {Patterns} */ (JSON.parse(readFileSync(path, "utf8")));
  const found = findWords(patterns, writtenFiles());
  if (found.length > 0) throw new CommandFailed(`${found.join("\n")}\nUse the words of the field instead.`);
  console.log(`none of ${String(Object.keys(patterns).length)} words`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  await main(() => {
    checkWords();
    return Promise.resolve();
  });
