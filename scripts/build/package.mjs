/** The folder that is packed: `npm pack ./target/npm`, `npm publish ./target/npm`. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { filesBelow, removeOutdated, writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { stubManifests } from "./entries.mjs";

export const packageDirectory = inProject("target", "npm");

/**
 * Copies what `files` of package.json names, and adds a folder for each subpath.
 * @param {string} [directory]
 */
export function assemblePackage(directory = packageDirectory) {
  const text = readFileSync(inProject("package.json"), "utf8");
  // Nothing that the scripts run is packed, and all that is in the folder is.
  const { files, scripts: _, ...manifest } = /** @type {{ files: string[], scripts: object }} */ (JSON.parse(text));
  for (const path of ["README.md", ...files].flatMap(matching)) {
    writeWhole(join(directory, path), readFileSync(inProject(path)));
  }
  for (const [name, content] of Object.entries({ ".": manifest, ...stubManifests() })) {
    writeWhole(join(directory, name, "package.json"), `${JSON.stringify(content, undefined, 2)}\n`);
  }
  removeOutdated(directory);
}

/**
 * The files that a pattern such as `docs/*.md` matches, or that are below the directory that it names.
 * @param {string} pattern
 * @returns {string[]}
 */
function matching(pattern) {
  const directory = dirname(pattern);
  const [before = "", after] = basename(pattern).split("*");
  const matches = (/** @type {string} */ name) =>
    after === undefined ? name === before : name.startsWith(before) && name.endsWith(after);
  const names = readdirSync(inProject(directory)).filter(matches);
  if (names.length === 0) throw new Error(`package.json names ${pattern}, and there is none`);
  return names.flatMap((name) => filesBelow(inProject(directory, name))).map((path) => relative(inProject(), path));
}
