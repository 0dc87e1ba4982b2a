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
 * @property {string} name of dist/<name>.*, and of `seenguard/<name>`
 * @property {string} [source] of js/<source>.ts, if it is not entries/<name>
 * @property {string} [types] of js/types/<types>.d.ts, if it is not <name>
 * @property {true} [inlinesWasm] for workers that compile no bytes it is also built with its Wasm as an import
 * @property {true} [isShared] other entries import it instead of having a copy in them
 * @property {true} [isGenerated] nobody debugs it: it is minified, without a source map
 * @property {readonly string[]} [peers] no core in it: imports `seenguard` and these packages by their names
 * @property {true} [hasEffect] importing it does something: bundlers keep an import of which nothing is used
 */

/** @type {readonly Entry[]} */
export const entries = [
  { name: "index", types: "seenguard", inlinesWasm: true },
  { name: "formats", inlinesWasm: true },
  { name: "slim" },
  { name: "server", inlinesWasm: true },
  { name: "react", source: "adapters/react", peers: ["react"] },
  { name: "vue", source: "adapters/vue", peers: ["vue"] },
  { name: "svelte", source: "adapters/svelte", peers: ["svelte/reactivity"] },
  { name: "engine-js", isShared: true, isGenerated: true },
  { name: "testing", source: "adapters/testing", peers: [] },
  { name: "devtools", peers: [], hasEffect: true },
];

/** In dist/ as the entries are, and no entry itself. So all ES entries have one class of errors. @type {Entry} */
const errors = { name: "errors", source: "errors", isShared: true };

/** All that is bundled as an ES and a CommonJS module. */
export const bundles = [...entries, errors];

/**
 * Builds of the entries that inline their Wasm, named after the export condition that they are for.
 *
 * - workerd: its modules import a `.wasm` file as a `WebAssembly.Module`, with no configuration in wrangler.
 * - edge-light: Vercel and Next.js do so for an address that ends with `?module`.
 */
export const workerBuilds = /** @type {const} */ ([
  { condition: "workerd", suffix: "" },
  { condition: "edge-light", suffix: "?module" },
]);

/**
 * Whether the ES module of an entry is apart from its bundle, `<name>.bundle.js`: in no bundler pays for the guard who
 * imports the class of the errors alone.
 * @param {Entry} entry
 */
export const isApart = ({ isShared, peers }) => !isShared && !peers;

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
function conditionsOf({ name, inlinesWasm }) {
  const types = `./dist/${name}.d.ts`;
  const inlined = {
    import: { types, default: `./dist/${name}.js` },
    require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
  };
  if (!inlinesWasm) return inlined;
  return {
    workerd: { types, default: `./dist/${name}.workerd.js` },
    "edge-light": { types, default: `./dist/${name}.edge-light.js` },
    // Other tools for workers at the edge. webpack and rspack set it for a page's workers, too, and import no Wasm.
    worker: { types, webpack: `./dist/${name}.js`, default: `./dist/${name}.workerd.js` },
    ...inlined,
  };
}

/** `sideEffects` of package.json: the files that a bundler keeps though nothing of them is used. */
export function manifestSideEffects() {
  return entries
    .filter(({ hasEffect }) => hasEffect)
    .flatMap(({ name }) => [`./dist/${name}.js`, `./dist/${name}.cjs`]);
}

/**
 * For each subpath the package.json of a folder, for resolvers that know no `exports`: Parcel's default, TypeScript's
 * `node10`.
 */
export function stubManifests() {
  const subpaths = entries.filter(({ name }) => name !== "index");
  return Object.fromEntries(
    subpaths.map(({ name, hasEffect }) => {
      const file = (/** @type {string} */ extension) => `../dist/${name}.${extension}`;
      const sideEffects = hasEffect === true;
      return [name, { main: file("cjs"), module: file("js"), types: file("d.ts"), sideEffects }];
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
