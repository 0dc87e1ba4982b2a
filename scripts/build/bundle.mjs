/** The entries of the package, each one file that imports nothing; and the command. */
import { readFile } from "node:fs/promises";
import * as esbuild from "esbuild";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";

/**
 * @typedef {object} Entry
 * @property {string} name of dist/<name>.*, and of js/entries/<name>.ts
 * @property {string} types of js/types/<types>.d.ts
 * @property {readonly string[]} [imports] what it leaves to the app: it is an adapter then, of js/adapters/<name>.ts
 */

/** @type {readonly Entry[]} */
export const entries = [
  { name: "index", types: "seenguard" },
  { name: "formats", types: "formats" },
  { name: "slim", types: "slim" },
  { name: "server", types: "server" },
  { name: "react", types: "react", imports: ["seenguard", "react"] },
  { name: "vue", types: "vue", imports: ["seenguard", "vue"] },
  { name: "svelte", types: "svelte", imports: ["seenguard", "svelte/reactivity"] },
  { name: "testing", types: "testing", imports: ["seenguard"] },
];

/** The oldest engines that the package runs in. */
const target = ["chrome96", "safari15", "node20"];

/**
 * Inlines a Wasm module as hexadecimal text, the default export. Compressors find the module's patterns in it, and not
 * in base64.
 */
const wasmAsHex = /** @satisfies {import("esbuild").Plugin} */ ({
  name: "wasm-as-hex",
  setup(build) {
    build.onLoad({ filter: /\.wasm$/ }, async ({ path }) => ({
      contents: await readFile(path, "hex"),
      loader: "text",
    }));
  },
});

export async function bundle() {
  await Promise.all([...entries.flatMap(bundleEntry), bundleScript(), bundleCommand()]);
}

/** As written: bundlers minify, and people debug. @param {Entry} entry */
function bundleEntry({ name, imports }) {
  const source = imports ? inProject("js", "adapters", `${name}.ts`) : entryPath(name);
  const options = { entryPoints: [source], external: [...(imports ?? [])] };
  return [
    bundleFile({ ...options, outfile: inProject("dist", `${name}.js`), format: "esm" }),
    bundleFile({ ...options, outfile: inProject("dist", `${name}.cjs`), format: "cjs" }),
  ];
}

/** For a script tag. A page that has no bundler has no choice of entries: it gets all formats. */
async function bundleScript() {
  const outfile = inProject("dist", "seenguard.iife.js");
  await bundleFile({
    entryPoints: [entryPath("formats")],
    outfile,
    format: "iife",
    globalName: "Seenguard",
    minify: true,
  });
}

/** `npx seenguard`, for Node alone. */
async function bundleCommand() {
  const outfile = inProject("dist", "inspect.js");
  await bundleFile({
    entryPoints: [inProject("cli", "main.ts")],
    outfile,
    format: "esm",
    platform: "node",
    target: "node20",
  });
}

/** @param {string} name */
const entryPath = (name) => inProject("js", "entries", `${name}.ts`);

/** @param {import("esbuild").BuildOptions & { outfile: string }} options */
async function bundleFile(options) {
  const result = await esbuild.build({
    platform: "neutral",
    target,
    ...options,
    absWorkingDir: inProject(),
    bundle: true,
    plugins: [wasmAsHex],
    legalComments: "none",
    // The same bytes under any charset that a server may claim.
    charset: "ascii",
    sourcemap: true,
    metafile: true,
    write: false,
  });
  const imports = Object.values(result.metafile.outputs)
    .flatMap((output) => output.imports.map(({ path }) => path))
    .filter((path) => !options.external?.includes(path) && (options.platform !== "node" || !path.startsWith("node:")));
  if (imports.length > 0) throw new Error(`${options.outfile} imports ${imports.join(", ")}`);
  for (const { path, text } of result.outputFiles) writeWhole(path, path.endsWith(".map") ? withoutWasm(text) : text);
}

/**
 * A source map without the modules as text, which nobody debugs.
 * @param {string} map
 */
function withoutWasm(map) {
  const { sources, sourcesContent, ...rest } = /** @type {{ sources: string[], sourcesContent: string[] }} */ (
    JSON.parse(map)
  );
  const contents = sourcesContent.map((content, index) => (sources[index]?.endsWith(".wasm") ? null : content));
  return JSON.stringify({ ...rest, sources, sourcesContent: contents });
}
