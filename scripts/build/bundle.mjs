/**
 * The entries of the package, each one file that imports nothing but, where there is no WebAssembly, the engine as
 * JavaScript; and the command.
 */
import { readFile } from "node:fs/promises";
import * as esbuild from "esbuild";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";

/**
 * @typedef {object} Entry
 * @property {string} name of js/entries/<name>.ts and dist/<name>.*
 * @property {string} types of js/types/<types>.d.ts
 * @property {boolean} [isGenerated] nobody debugs it: it is minified, and has no source map
 */

/** @type {readonly Entry[]} */
export const entries = [
  { name: "index", types: "seenguard" },
  { name: "formats", types: "formats" },
  { name: "slim", types: "slim" },
  { name: "server", types: "server" },
  { name: "engine-js", types: "engine-js", isGenerated: true },
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
  await Promise.all([...entries.flatMap(bundleEntry), bundleScripts(), bundleCommand()]);
}

/**
 * Leaves the import of the JavaScript engine as it is: a file that is fetched only if it is needed.
 * @param {".js" | ".cjs"} extension
 * @returns {import("esbuild").Plugin}
 */
const engineApart = (extension) => ({
  name: "engine-apart",
  setup(build) {
    const path = `./engine-js${extension}`;
    build.onResolve({ filter: /^\.\/engine-js\.js$/ }, () => ({ path, external: true }));
  },
});

/** As written: bundlers minify, and people debug. @param {Entry} entry */
function bundleEntry({ name, isGenerated = false }) {
  const options = { entryPoints: [entryPath(name)], minify: isGenerated, sourcemap: !isGenerated };
  return [
    bundleFile({ ...options, outfile: inProject("dist", `${name}.js`), format: "esm", plugins: [engineApart(".js")] }),
    bundleFile({
      ...options,
      outfile: inProject("dist", `${name}.cjs`),
      format: "cjs",
      plugins: [engineApart(".cjs")],
      // A CommonJS module is required, though late.
      supported: { "dynamic-import": false },
    }),
  ];
}

/** For script tags. */
async function bundleScripts() {
  const options = /** @type {const} */ ({ format: "iife", minify: true });
  await Promise.all([
    bundleFile({
      ...options,
      entryPoints: [entryPath("script-tag")],
      outfile: inProject("dist", "seenguard.iife.js"),
      globalName: "Seenguard",
    }),
    bundleFile({
      ...options,
      entryPoints: [entryPath("engine-js-script-tag")],
      outfile: inProject("dist", "seenguard-engine-js.iife.js"),
      sourcemap: false,
    }),
  ]);
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
    sourcemap: true,
    ...options,
    absWorkingDir: inProject(),
    bundle: true,
    plugins: [wasmAsHex, ...(options.plugins ?? [])],
    // The glue names these as globals, which not every engine has.
    inject: [inProject("js", "text-encoding.ts")],
    legalComments: "none",
    // The same bytes under any charset that a server may claim.
    charset: "ascii",
    metafile: true,
    write: false,
  });
  const imports = Object.values(result.metafile.outputs)
    .flatMap((output) => output.imports.map(({ path }) => path))
    .filter((path) => options.platform !== "node" || !path.startsWith("node:"))
    .filter((path) => !path.startsWith("./engine-js."));
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
