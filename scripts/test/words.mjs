/**
 * Words that the project does not use, because a reader would have to learn what they mean here: words.json has a
 * pattern for each, and how often each folder has it still.
 *
 *     node scripts/test/words.mjs             fails where a folder has one more often
 *     node scripts/test/words.mjs --update    writes smaller counts, and those of new patterns
 *
 * Patterns are added, never removed: a word that has a proper use elsewhere has none.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { readIfThere, writeWhole } from "../lib/files.mjs";
import { inProject, root } from "../lib/paths.mjs";
import { CommandFailed } from "../lib/run.mjs";
import { main } from "../setup.mjs";

/** @typedef {Readonly<Record<string, Readonly<Record<string, number>>>>} Counts by pattern and folder */
/** @typedef {{ readonly path: string, readonly text: string }} File */

/**
 * @typedef {object} Words
 * @property {Readonly<Record<string, string>>} patterns by name; each matches text in small letters, see `plain`
 * @property {Counts} counts
 */

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

/** The first part of a path; files of the root have one for all. @param {string} path */
const folderOf = (path) => (path.includes("/") ? (path.split("/")[0] ?? "") : "root");

/**
 * @param {Words["patterns"]} patterns
 * @param {readonly File[]} files
 * @returns {Counts} without those that are 0
 */
export function count(patterns, files) {
  const texts = files.map(({ path, text }) => ({ folder: folderOf(path), text: plain(text) }));
  return Object.fromEntries(
    Object.entries(patterns).map(([name, pattern]) => {
      const expression = new RegExp(pattern, "g");
      /** @type {Record<string, number>} */
      const counts = {};
      for (const { folder, text } of texts) {
        const found = text.match(expression)?.length ?? 0;
        if (found > 0) counts[folder] = (counts[folder] ?? 0) + found;
      }
      return [name, counts];
    }),
  );
}

/**
 * What is wrong, one a line: a pattern without counts, a count that has grown.
 * @param {Counts} before
 * @param {Counts} now
 */
export function grown(before, now) {
  return Object.entries(now).flatMap(([name, folders]) => {
    const known = before[name];
    if (known === undefined) return [`"${name}" is not counted yet`];
    return Object.entries(folders)
      .filter(([folder, found]) => found > (known[folder] ?? 0))
      .map(([folder, found]) => `"${name}": ${String(found)} in ${folder}, ${String(known[folder] ?? 0)} before`);
  });
}

/**
 * The smaller of both counts; of a new pattern what is there now.
 * @param {Counts} before
 * @param {Counts} now
 * @returns {Counts}
 */
export function shrunk(before, now) {
  return Object.fromEntries(
    Object.entries(now).map(([name, folders]) => {
      const known = before[name];
      const smaller = Object.entries(folders)
        .map(
          ([folder, found]) => /** @type {const} */ ([folder, Math.min(found, known ? (known[folder] ?? 0) : found)]),
        )
        .filter(([, found]) => found > 0);
      return [name, Object.fromEntries(smaller)];
    }),
  );
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

/** @param {{ update?: boolean }} [options] */
export function checkWords({ update = false } = {}) {
  const { patterns, counts } = /** @type {Words} */ (JSON.parse(readFileSync(path, "utf8")));
  const now = count(patterns, writtenFiles());
  const allowed = update ? shrunk(counts, now) : counts;
  if (update) writeWhole(path, `${JSON.stringify({ patterns, counts: allowed }, undefined, 2)}\n`);
  const wrong = grown(allowed, now);
  if (wrong.length > 0) throw new CommandFailed(`${wrong.join("\n")}\nUse the words of the field instead.`);
  const sum = Object.values(now)
    .flatMap((folders) => Object.values(folders))
    .reduce((a, b) => a + b, 0);
  console.log(`${String(Object.keys(patterns).length)} patterns, found ${String(sum)} times`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  await main(() => {
    checkWords({ update: process.argv.includes("--update") });
    return Promise.resolve();
  });
