/** The lists of mutants, and the copies of the project in which they are tried. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inProject, root } from "../../scripts/lib/paths.mjs";

/**
 * @typedef {object} Mutant
 * @property {string} name what it breaks
 * @property {string} file
 * @property {string} from a text that is in the file once
 * @property {string} to what it becomes
 * @property {string} [by] the test that caught it last: it is tried first. For js, its file alone is enough
 * @property {string} [harmless] why no test needs to notice it
 */
/** The test that caught a mutant, or what is wrong with it. @typedef {{ by: string } | { problem: string }} Outcome */

/** @param {string} language */
const pathOf = (language) => fileURLToPath(new URL(`${language}-list.json`, import.meta.url));

/** @param {string} language */
export function readList(language) {
  const list = /** @type {Mutant[]} */ (JSON.parse(readFileSync(pathOf(language), "utf8")));
  const names = list.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`two mutants are called ${twice}`);
  return list;
}

/**
 * Remembers which test has caught a mutant. The list is read again: a run takes long, and people work meanwhile.
 * @param {string} language
 * @param {Mutant} mutant
 * @param {string} by
 */
export function remember(language, { name }, by) {
  const list = readList(language).map((mutant) => (mutant.name === name ? { ...mutant, by } : mutant));
  writeFileSync(pathOf(language), `${JSON.stringify(list, undefined, 2)}\n`);
}

/** @param {Mutant} mutant */
export function isThereOnce({ file, from }) {
  return existsSync(inProject(file)) && readFileSync(inProject(file), "utf8").split(from).length === 2;
}

/**
 * A new copy of the project's files, as they are in the work tree; what is made of them is not in it.
 * @param {string} name
 */
export function copyOfProject(name) {
  const copy = join(process.env.SEENGUARD_MUTATION_DIRECTORY ?? inProject("target", "mutation"), name);
  rmSync(copy, { recursive: true, force: true });
  const options = /** @type {const} */ ({ cwd: root, encoding: "utf8", maxBuffer: 1 << 26 });
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], options);
  for (const file of files.split("\0").filter((file) => file !== "" && existsSync(inProject(file)))) {
    cpSync(inProject(file), join(copy, file));
  }
  symlinkSync(inProject("node_modules"), join(copy, "node_modules"));
  return copy;
}
