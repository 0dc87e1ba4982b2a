/** The folder that is packed: `npm pack ./target/npm`, `npm publish ./target/npm`. */
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
 * Copies what `files` of package.json names, and adds a folder for each subpath.
 * @param {string} [directory]
 */
export function assemblePackage(directory = packageDirectory) {
  const text = readFileSync(inProject("package.json"), "utf8");
  // Nothing that the scripts run is packed, and all that is in the folder is.
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

/** A fenced block of code, in which nothing is a link. */
const FENCED = /(^```[^]*?^```$)/m;

/**
 * A page as it is packed. It names files that the package lacks without a link; or links to the repository, once
 * package.json says where that is.
 * @param {string} path
 * @param {string} text
 * @param {ReadonlySet<string>} packed the files that are
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
