/**
 * The entries of the package. What is built, which declarations are shipped, the `exports` of package.json and the
 * folders for old resolvers follow from this table.
 *
 *     node scripts/build/entries.mjs --update    writes `exports` and `sideEffects` into package.json
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";

/**
 * @typedef {object} Entry
 * @property {string} name of `seenguard/<name>`
 * @property {string} [source] of js/<source>.ts, if it is not entries/<name>
 * @property {string} [types] of js/types/<types>.d.ts, if it is not <name>
 * @property {true} [isGenerated] it is minified, without a source map: apps do not debug it
 * @property {true} [isEsmOnly] there is no CommonJS module of it: what is imported on demand needs none, for CommonJS
 *   has `import()`, too
 * @property {true} [hasWasmFile] it imports its Wasm as a file
 * @property {string} [inReactNative] what React Native loads instead
 * @property {string} [inWorkerd] what tools for workerd load instead
 * @property {readonly string[]} [peers] no core in it: imports `seenguard` and these packages by their names
 * @property {true} [inDemo] the demo imports it
 * @property {true} [hasDevelopment] there is a build for development, too
 * @property {true} [hasEffect] importing it does something: bundlers keep an import of which nothing is used
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

/** In dist/ as the entries are, and not for apps to import. @type {readonly Entry[]} */
const internal = [
  // All entries have one class of errors.
  { name: "errors", source: "errors", peers: [], inDemo: true },
  // What the server's entries import where no Wasm is compiled.
  { name: "server/engine-js", isGenerated: true, isEsmOnly: true },
  { name: "server/workerd", source: "entries/server", hasWasmFile: true, isEsmOnly: true },
  { name: "near-duplicates/workerd", source: "entries/near-duplicates", hasWasmFile: true, isEsmOnly: true },
  ...["react-native", "formats/react-native"].map(
    (name) => /** @type {const} */ ({ name, isEsmOnly: true, peers: [] }),
  ),
  // `npx seenguard`, for Node alone.
  { name: "cli", source: "cli/main", isEsmOnly: true, peers: [] },
];

/** All that is bundled as modules: what is minified, and what is as it was written. */
export const bundles = [...entries, ...internal];
export const generated = bundles.filter(({ isGenerated }) => isGenerated);
export const written = bundles.filter(({ isGenerated }) => !isGenerated);

/**
 * Whether the ES module of an entry is apart from its bundle, `<name>.bundle.js`: in no bundler pays for the guard who
 * imports the class of the errors alone.
 * @param {Entry} entry
 */
export const isApart = ({ isGenerated, hasWasmFile, peers }) => !isGenerated && !hasWasmFile && !peers;

/** An entry's file in dist/, without its extension. @param {Pick<Entry, "name">} entry */
export const fileOf = ({ name }) => name.replaceAll("/", "-");

/** The same of the build for development. @param {Pick<Entry, "name">} entry */
export const developmentFileOf = (entry) => `${fileOf(entry)}.development`;

/** @param {Entry} entry */
export const specifierOf = ({ name }) => (name === "index" ? "seenguard" : `seenguard/${name}`);

/**
 * `exports` of package.json: bundlers and runtimes take the first condition that holds.
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
    // Of bundlers: for `require`, too, which may meet an import of the same package.
    module: moduleIn(name),
    import: moduleIn(name),
    require: { types: `./dist/${file}.d.cts`, default: `./dist/${name}.cjs` },
  });
  return {
    ...(inReactNative !== undefined && { "react-native": moduleIn(fileOf({ name: inReactNative })) }),
    // Nitro has the conditions of all runtimes at the edge at once, and by itself imports no `.wasm` file.
    ...(inWorkerd !== undefined && { "edge-light": moduleIn(file), workerd: moduleIn(fileOf({ name: inWorkerd })) }),
    ...(hasDevelopment && { development: byKind(developmentFileOf(entry)) }),
    ...byKind(file),
  };
}

/** `sideEffects` of package.json: the files that a bundler keeps though nothing of them is used. */
export function manifestSideEffects() {
  return entries
    .filter(({ hasEffect }) => hasEffect)
    .flatMap((entry) => [`./dist/${fileOf(entry)}.js`, `./dist/${fileOf(entry)}.cjs`]);
}

/**
 * For each subpath the package.json of a folder, for resolvers that know no `exports`: Parcel's default, TypeScript's
 * `node10`.
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
