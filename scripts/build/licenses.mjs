/**
 * The licences of everything by others that is in the npm package: crates in the Wasm modules, npm packages in the
 * JavaScript, and tools that leave code of their own in what they make.
 *
 *     node scripts/build/licenses.mjs --update    writes THIRD-PARTY-LICENSES.md
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { CommandFailed, output } from "../lib/run.mjs";
import { wasmTarget } from "../lib/rust.mjs";

export const licensesFile = "THIRD-PARTY-LICENSES.md";

/** npm packages with code in dist/, and what of them that is. */
const npmPackages = [
  { name: "esbuild", what: "helper functions of its bundles" },
  { name: "binaryen", what: "helper functions of the JavaScript engine" },
];

const HEADER = `# Licences of what this package contains

The files in \`dist/\` contain code of the packages below, under these licences. Where a package is offered under several
at one's option, this is under the one whose text follows. They also contain parts of the [Rust standard
library](https://github.com/rust-lang/rust), taken under Apache-2.0, as in [LICENSE-APACHE](LICENSE-APACHE).
`;

/** @typedef {{ name: string, version: string, license: string, what: string, text: string }} Part */

/** The content of the file. */
export async function thirdPartyLicenses() {
  const parts = [...(await crates()), ...npmPackages.map(npmPackage)];
  // Many have the same text.
  const texts = [...new Set(parts.map(({ text }) => text))];
  const sections = texts.map((text) => {
    const having = parts.filter((part) => part.text === text);
    const names = having.map(({ name, version, license, what }) => `- ${name} ${version} (${license}): ${what}`);
    return `${names.join("\n")}\n\n\`\`\`text\n${text}\n\`\`\`\n`;
  });
  return [HEADER, ...sections].join("\n");
}

/** @typedef {{ name: string, version: string, license: string, manifest_path: string }} Crate */

/** The crates that are compiled into the Wasm modules. */
async function crates() {
  const platform = ["--locked", "--package", "seenguard", "--target", wasmTarget];
  const plain = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"];
  const tree = await output("cargo", ["tree", ...platform, ...plain]);
  // Where each is. Of the whole workspace: its features are those that any member wants.
  const text = await output("cargo", ["metadata", "--format-version", "1", "--locked"]);
  if (tree === undefined || text === undefined) throw new CommandFailed("cargo does not tell the crates");
  const needed = new Set(tree.split("\n").map((line) => line.split(" ").slice(0, 2).join(" ")));
  const { packages } = /** @type {{ packages: (Crate & { source: string | null })[] }} */ (JSON.parse(text));
  return packages
    .filter(({ name, version, source }) => source !== null && needed.has(`${name} v${version}`))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, version, license, manifest_path }) => {
      const what = "compiled into the Wasm modules";
      return { name, version, license, what, text: textIn(dirname(manifest_path), license) };
    });
}

/**
 * @param {{ name: string, what: string }} wanted
 * @returns {Part}
 */
function npmPackage({ name, what }) {
  const directory = inProject("node_modules", name);
  /** @type {{ version: string, license: string }} */
  const { version, license } = JSON.parse(readFileSync(`${directory}/package.json`, "utf8"));
  return { name, version, license, what, text: textIn(directory, license) };
}

/**
 * The text of a package's licence: of several that may be chosen the shortest, else all.
 * @param {string} directory
 * @param {string} license
 */
function textIn(directory, license) {
  const files = readdirSync(directory).filter((name) => /^(licen[cs]e|unlicense)/i.test(name));
  // It is the longest, and none is offered under it and not under another one that has a file, too.
  const chosen = files.length > 1 ? files.filter((name) => name !== "LICENSE-APACHE") : files;
  const texts = chosen.map((name) => readFileSync(`${directory}/${name}`, "utf8").replaceAll("\r", "").trim());
  const [shortest] = texts.sort((a, b) => a.length - b.length);
  if (shortest === undefined) throw new CommandFailed(`${directory} has no text of its licence`);
  return license.includes(" AND ") ? texts.join("\n\n") : shortest;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href && process.argv.includes("--update"))
  writeWhole(inProject(licensesFile), await thirdPartyLicenses());
