/**
 * The entries of the package. This table determines the bundles, the shipped declarations, the `exports` of
 * package.json and the folders for old resolvers.
 *
 *     node scripts/build/entries.mjs --update    writes `exports` and `sideEffects` into package.json
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";

/**
 * @typedef {object} Entry
 * @property {string} name the subpath in `seenguard/<name>`
 * @property {string} [source] the file js/<source>.ts, if it is not entries/<name>
 * @property {string} [types] the file js/types/<types>.d.ts, if it is not <name>
 * @property {true} [isGenerated] minified, without a source map, since apps do not debug it
 * @property {true} [isEsmOnly] without a CommonJS module: entries that are imported on demand need none, since CommonJS
 *   has `import()`, too
 * @property {true} [hasWasmFile] it imports its Wasm as a file
 * @property {string} [inReactNative] the entry that React Native loads instead
 * @property {string} [inWorkerd] the entry that tools for workerd load instead
 * @property {readonly string[]} [peers] without the core: it imports `seenguard` and these packages by their names
 * @property {true} [inDemo] the demo imports it
 * @property {true} [hasDevelopment] it has a development build, too
 * @property {true} [hasEffect] it has side effects, so bundlers retain an unused import of it
 */

/** @type {readonly Entry[]} */
export const entries = [
  { name: "index", types: "seenguard", inReactNative: "react-native", inDemo: true, hasDevelopment: true },
  { name: "formats", inReactNative: "formats/react-native", hasDevelopment: true },
  { name: "slim", hasDevelopment: true },
  { name: "lazy", peers: [] },
  { name: "server", inWorkerd: "server/workerd", inDemo: true },
  { name: "server/testing", source: "testing/promises", types: "server-testing", peers: [] },
  { name: "near-duplicates", inWorkerd: "near-duplicates/workerd", inDemo: true },
  { name: "react", source: "adapters/react", peers: ["react"] },
  { name: "vue", source: "adapters/vue", peers: ["vue"] },
  { name: "svelte", source: "adapters/svelte", peers: ["svelte/reactivity"] },
  { name: "engine-js", isGenerated: true, isEsmOnly: true },
  { name: "formats/engine-js", types: "engine-js", isGenerated: true, isEsmOnly: true },
  { name: "testing", source: "adapters/testing", peers: [], hasEffect: true },
  { name: "devtools", peers: [], hasEffect: true, inDemo: true },
];

/** Internal modules of dist/, which apps do not import. @type {readonly Entry[]} */
const internal = [
  // All entries share one error class.
  { name: "errors", source: "errors", peers: [], inDemo: true },
  // Imported by the server's entries where Wasm cannot be compiled.
  { name: "server/engine-js", isGenerated: true, isEsmOnly: true },
  { name: "server/workerd", source: "entries/server", hasWasmFile: true, isEsmOnly: true },
  { name: "near-duplicates/workerd", source: "entries/near-duplicates", hasWasmFile: true, isEsmOnly: true },
  ...["react-native", "formats/react-native"].map(
    (name) => /** @type {const} */ ({ name, isEsmOnly: true, peers: [] }),
  ),
  // `npx seenguard`, for Node only.
  { name: "cli", source: "cli/main", isEsmOnly: true, peers: [] },
];

/** All bundled modules. */
export const bundles = [...entries, ...internal];
export const generated = bundles.filter(({ isGenerated }) => isGenerated);
export const written = bundles.filter(({ isGenerated }) => !isGenerated);

/**
 * Whether the ES module of an entry is separate from its bundle, `<name>.bundle.js`, so that importing only the error
 * class does not include the guard in any bundler.
 * @param {Entry} entry
 */
export const isApart = ({ isGenerated, hasWasmFile, peers }) => !isGenerated && !hasWasmFile && !peers;

/** An entry's file in dist/, without its extension. @param {Pick<Entry, "name">} entry */
export const fileOf = ({ name }) => name.replaceAll("/", "-");

/** The file of an entry's development build, without its extension. @param {Pick<Entry, "name">} entry */
export const developmentFileOf = (entry) => `${fileOf(entry)}.development`;

/** @param {Entry} entry */
export const specifierOf = ({ name }) => (name === "index" ? "seenguard" : `seenguard/${name}`);

/**
 * The `exports` of package.json. Bundlers and runtimes use the first condition that applies.
 * @returns {Record<string, string | object>}
 */
export function manifestExports() {
  return {
    ...Object.fromEntries(entries.map((entry) => [specifierOf(entry).replace("seenguard", "."), conditionsOf(entry)])),
    "./seenguard.wasm": "./dist/seenguard.wasm",
    "./formats.wasm": "./dist/formats.wasm",
    "./package.json": "./package.json",
  };
}

/** @param {Entry} entry */
function conditionsOf(entry) {
  const file = fileOf(entry);
  const types = `./dist/${file}.d.ts`;
  const moduleIn = (/** @type {string} */ name) => ({ types, default: `./dist/${name}.js` });
  if (entry.isEsmOnly) return moduleIn(file);
  const { inReactNative, inWorkerd, hasDevelopment } = entry;
  const byKind = (/** @type {string} */ name) => ({
    // Bundlers use the ES module for `require`, too, so that it shares an instance with imports.
    module: moduleIn(name),
    import: moduleIn(name),
    require: { types: `./dist/${file}.d.cts`, default: `./dist/${name}.cjs` },
  });
  return {
    ...(inReactNative !== undefined && { "react-native": moduleIn(fileOf({ name: inReactNative })) }),
    // Nitro sets the conditions of all edge runtimes at once, and does not import `.wasm` files by default.
    ...(inWorkerd !== undefined && { "edge-light": moduleIn(file), workerd: moduleIn(fileOf({ name: inWorkerd })) }),
    ...(hasDevelopment && { development: byKind(developmentFileOf(entry)) }),
    ...byKind(file),
  };
}

/** The `sideEffects` of package.json: the files that a bundler retains even if nothing of them is used. */
export function manifestSideEffects() {
  return entries
    .filter(({ hasEffect }) => hasEffect)
    .flatMap((entry) => [`./dist/${fileOf(entry)}.js`, `./dist/${fileOf(entry)}.cjs`]);
}

/**
 * Returns a package.json for the folder of each subpath, for resolvers that do not support `exports`: Parcel's default,
 * TypeScript's `node10`.
 */
export function stubManifests() {
  const subpaths = entries.filter(({ name }) => name !== "index");
  return Object.fromEntries(
    subpaths.map((entry) => {
      const dist = `${entry.name.replace(/[^/]+/g, "..")}/dist`;
      const file = (/** @type {string} */ extension) => `${dist}/${fileOf(entry)}.${extension}`;
      const [main, sideEffects] = [file(entry.isEsmOnly ? "js" : "cjs"), entry.hasEffect === true];
      return [entry.name, { main, module: file("js"), types: file("d.ts"), sideEffects }];
    }),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href && process.argv.includes("--update")) {
  const path = inProject("package.json");
  /** @type {object} */
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  writeWhole(
    path,
    `${JSON.stringify({ ...manifest, sideEffects: manifestSideEffects(), exports: manifestExports() }, undefined, 2)}\n`,
  );
}
