/**
 * The licences of third-party code in the npm package (crates in the Wasm modules, npm packages in the JavaScript,
 * tools whose output has code of their own), and in the service's program.
 *
 *     node scripts/build/licenses.mjs --update    writes THIRD-PARTY-LICENSES.md
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { CommandFailed, output } from "../lib/run.mjs";
import { wasmTarget } from "../lib/rust.mjs";

export const licensesFile = "THIRD-PARTY-LICENSES.md";

/** The npm packages with code in dist/, each with that code. */
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

/** The content of THIRD-PARTY-LICENSES.md. */
export async function thirdPartyLicenses() {
  const crates = await cratesIn(["--package", "seenguard", "--target", wasmTarget], "compiled into the Wasm modules");
  return [HEADER, ...sectionsOf([...crates, ...npmPackages.map(npmPackage)])].join("\n");
}

/** The C libraries that crates of the service include. */
const cLibraries = [
  { crate: "rdkafka-sys", name: "librdkafka", license: "BSD-2-Clause, and others", file: "librdkafka/LICENSES.txt" },
  { crate: "openssl-src", name: "OpenSSL", license: "Apache-2.0", file: "openssl/LICENSE.txt" },
  { crate: "zstd-sys", name: "Zstandard", license: "BSD-3-Clause", file: "zstd/LICENSE" },
  { crate: "libz-sys", name: "zlib", license: "Zlib", file: "src/zlib/LICENSE" },
  { crate: "libmimalloc-sys", name: "mimalloc", license: "MIT", file: "c_src/mimalloc/v3/LICENSE" },
];

/**
 * The licences of the code in the program `seenguard-server`.
 * @param {readonly string[]} of target and features, as arguments of cargo
 * @param {readonly Part[]} others
 */
export async function serverLicenses(of, others) {
  const crates = await cratesIn(["--package", "seenguard-server", ...of], "compiled");
  const packages = await allCrates();
  const libraries = cLibraries.map(({ crate, name, license, file }) => {
    const { version, manifest_path } = packages.find((one) => one.name === crate) ?? {};
    if (version === undefined || manifest_path === undefined) throw new CommandFailed(`there is no crate ${crate}`);
    const text = readFileSync(join(dirname(manifest_path), file), "utf8").trim();
    return { name, version, license, what: `compiled, from the crate ${crate}`, text };
  });
  return sectionsOf([...crates, ...libraries, ...others]).join("\n");
}

/** Each licence text once, below the list of its packages. @param {readonly Part[]} parts */
function sectionsOf(parts) {
  const texts = [...new Set(parts.map(({ text }) => text))];
  return texts.map((text) => {
    const having = parts.filter((part) => part.text === text);
    const names = having.map(({ name, version, license, what }) => `- ${name} ${version} (${license}): ${what}`);
    return `${names.join("\n")}\n\n\`\`\`text\n${text}\n\`\`\`\n`;
  });
}

/** @typedef {{ name: string, version: string, license: string, manifest_path: string, source: string | null }} Crate */

/** All crates of the workspace, with the features that any member enables. @returns {Promise<Crate[]>} */
async function allCrates() {
  const text = await output("cargo", ["metadata", "--format-version", "1", "--locked", "--all-features"]);
  if (text === undefined) throw new CommandFailed("cargo does not list the crates");
  return /** @type {{ packages: Crate[] }} */ (JSON.parse(text)).packages;
}

/**
 * The crates that are compiled into a product.
 * @param {readonly string[]} of package, target and features, as arguments of cargo
 * @param {string} what
 * @returns {Promise<Part[]>}
 */
async function cratesIn(of, what) {
  const plain = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"];
  const tree = await output("cargo", ["tree", "--locked", ...of, ...plain]);
  if (tree === undefined) throw new CommandFailed("cargo does not list the crates");
  const needed = new Set(tree.split("\n").map((line) => line.split(" ").slice(0, 2).join(" ")));
  const all = await allCrates();
  return all
    .filter(({ name, version, source }) => source !== null && needed.has(`${name} v${version}`))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, version, license, manifest_path }) => {
      // This crate is published without its repository's licence file; another crate of the repository has it.
      const other = name === "rdkafka-sys" ? all.find((one) => one.name === "rdkafka") : undefined;
      const text = textIn(dirname(other?.manifest_path ?? manifest_path), license);
      return { name, version, license, what, text };
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
 * The text of a package's licence: the shortest if there is a choice, else all.
 * @param {string} directory
 * @param {string} license
 */
function textIn(directory, license) {
  const files = readdirSync(directory).filter((name) => /^(licen[cs]e|unlicense)/i.test(name));
  // The Apache licence is the longest, and every package that offers it has another one to choose.
  const chosen = files.length > 1 ? files.filter((name) => name !== "LICENSE-APACHE") : files;
  const texts = chosen.map((name) => readFileSync(`${directory}/${name}`, "utf8").replaceAll("\r", "").trim());
  const [shortest] = texts.sort((a, b) => a.length - b.length);
  if (shortest === undefined) throw new CommandFailed(`${directory} has no licence file`);
  return license.includes(" AND ") ? texts.join("\n\n") : shortest;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href && process.argv.includes("--update"))
  writeWhole(inProject(licensesFile), await thirdPartyLicenses());
