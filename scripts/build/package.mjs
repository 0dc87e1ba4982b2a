/** Makes the folder of the npm package: `npm pack ./target/npm`, `npm publish ./target/npm`. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix, relative } from "node:path";
import { filesBelow, removeOutdated, writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { stubManifests } from "./entries.mjs";

/**
 * @typedef {object} Manifest
 * @property {string[]} files
 * @property {object} scripts
 * @property {object} prettier
 * @property {{ url: string }} [repository] there is none yet
 */

export const packageDirectory = inProject("target", "npm");

/**
 * Copies the `files` of package.json, and adds a folder for each subpath.
 * @param {string} [directory]
 */
export function assemblePackage(directory = packageDirectory) {
  const text = readFileSync(inProject("package.json"), "utf8");
  // Leave out the project's scripts and settings; `files` is not needed, since the whole folder is packed.
  const { files, scripts: _, prettier: _settings, ...manifest } = /** @type {Manifest} */ (JSON.parse(text));
  const packed = new Set(["README.md", ...files].flatMap(matching));
  for (const path of packed) {
    const content = readFileSync(inProject(path));
    const isPage = path.endsWith(".md");
    writeWhole(join(directory, path), isPage ? packedPage(path, content.toString(), packed, manifest) : content);
  }
  for (const [name, content] of Object.entries({ ".": manifest, ...stubManifests() })) {
    writeWhole(join(directory, name, "package.json"), `${JSON.stringify(content, undefined, 2)}\n`);
  }
  removeOutdated(directory);
}

/** A fenced code block, which has no links. */
const FENCED = /(^```[^]*?^```$)/m;

/**
 * Changes the links of a page to files that the package lacks: to links to the repository if package.json has its URL,
 * else to plain text.
 * @param {string} path
 * @param {string} text
 * @param {ReadonlySet<string>} packed the packed files
 * @param {Pick<Manifest, "repository">} manifest
 */
export function packedPage(path, text, packed, { repository }) {
  const base = repository?.url.replace(/^git\+|\.git$/g, "");
  const packedLink = (/** @type {string[]} */ ...[link = "", image = "", label = "", target = "", anchor = ""]) => {
    const file = posix.join(posix.dirname(path), target);
    if (target.startsWith("https:") || packed.has(file)) return link;
    if (base === undefined) return image ? `_${label}_` : label;
    return `${image}[${label}](${base}/${image ? "raw" : "blob"}/HEAD/${file}${anchor})`;
  };
  const links = /(!?)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)/g;
  const parts = text.split(FENCED);
  return parts.map((part, index) => (index % 2 === 1 ? part : part.replace(links, packedLink))).join("");
}

/**
 * The files that match a pattern such as `docs/*.md`, or are below a directory.
 * @param {string} pattern
 * @returns {string[]}
 */
function matching(pattern) {
  const directory = dirname(pattern);
  const [before = "", after] = basename(pattern).split("*");
  const matches = (/** @type {string} */ name) =>
    after === undefined ? name === before : name.startsWith(before) && name.endsWith(after);
  const names = readdirSync(inProject(directory)).filter(matches);
  if (names.length === 0) throw new Error(`no file matches ${pattern} in package.json`);
  return names.flatMap((name) => filesBelow(inProject(directory, name))).map((path) => relative(inProject(), path));
}
