/** The entries of the package, each an ES and a CommonJS module; the script-tag file; the command. */
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as esbuild from "esbuild";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { bundles, isApart, workerBuilds } from "./entries.mjs";
import { modules } from "./wasm.mjs";

/** @typedef {import("./entries.mjs").Entry} Entry */

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

/** A module that exports a text, with its lines as they are. @param {string} text */
const moduleOf = (text) => `export default \`${text.replace(/[\\`$]/g, "\\$&")}\`;`;

/** Inlines a script for Redis with its lines as they are, where esbuild's own loader makes one long line of them. */
const luaAsText = /** @satisfies {import("esbuild").Plugin} */ ({
  name: "lua-as-text",
  setup(build) {
    build.onLoad({ filter: /\.lua$/ }, async ({ path }) => {
      return { contents: moduleOf(await readFile(path, "utf8")) };
    });
  },
});

/** Inlines a style sheet, minified: no bundler does that to a text. */
const cssAsText = /** @satisfies {import("esbuild").Plugin} */ ({
  name: "css-as-text",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const options = { loader: /** @type {const} */ ("css"), minify: true, lineLimit: 120, target };
      return { contents: moduleOf((await esbuild.transform(await readFile(path, "utf8"), options)).code) };
    });
  },
});

/**
 * Leaves a Wasm module an import of the file in dist/ that has it.
 * @param {string} suffix of the address
 * @returns {import("esbuild").Plugin}
 */
const wasmAsImport = (suffix) => ({
  name: "wasm-as-import",
  setup(build) {
    build.onResolve({ filter: /\.wasm$/ }, ({ path }) => {
      const name = basename(dirname(path));
      const file = modules.find((module) => module.name === name)?.file;
      if (file === undefined) throw new Error(`${path} is no file of dist/`);
      return { path: `./${file}${suffix}`, external: true };
    });
  },
});

/**
 * Leaves what entries share an import of the file that has it, which lies beside them.
 * @param {Entry} importer
 * @param {string} extension
 * @returns {import("esbuild").Plugin}
 */
const sharedAsImport = (importer, extension) => ({
  name: "shared-as-import",
  setup(build) {
    const shared = bundles.filter((entry) => entry.isShared && entry !== importer);
    build.onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
      const source = join(resolveDir, path.replace(/\.js$/, ".ts"));
      const entry = shared.find((entry) => sourceOf(entry) === source);
      return entry && { path: `./${entry.name}${extension}`, external: true, sideEffects: false };
    });
  },
});

export async function bundle() {
  await Promise.all([...bundles.flatMap(bundleEntry), bundleScripts(), bundleCommand()]);
}

/** As written: bundlers minify, and people debug. @param {Entry} entry */
function bundleEntry(entry) {
  const { name, inlinesWasm, peers, isGenerated = false } = entry;
  const external = peers ? ["seenguard", ...peers] : [];
  const options = { entryPoints: [sourceOf(entry)], external, minify: isGenerated, sourcemap: !isGenerated };
  const outfile = (/** @type {string} */ ending) => inProject("dist", `${name}${ending}`);
  const esm = /** @type {const} */ ({ ...options, format: "esm" });
  const shared = sharedAsImport(entry, ".js");
  const workers = inlinesWasm ? workerBuilds : [];
  return [
    isApart(entry)
      ? bundleApart(name, { ...esm, outfile: outfile(".bundle.js"), plugins: [wasmAsHex, shared] })
      : bundleFile({ ...esm, outfile: outfile(".js"), plugins: [wasmAsHex, shared] }),
    bundleFile({
      ...options,
      outfile: outfile(".cjs"),
      format: "cjs",
      plugins: [wasmAsHex, sharedAsImport(entry, ".cjs")],
      // What is imported on demand is required then: an ES module beside it would be another copy.
      supported: { "dynamic-import": false },
    }),
    ...workers.map(({ condition, suffix }) =>
      bundleFile({ ...esm, outfile: outfile(`.${condition}.js`), plugins: [wasmAsImport(suffix), shared] }),
    ),
  ];
}

/**
 * Bundles an entry, and writes the module that exports what is in the bundle and the class of the errors.
 * @param {string} name
 * @param {Parameters<typeof bundleFile>[0]} options
 */
async function bundleApart(name, options) {
  const others = (await bundleFile(options)).filter((exported) => exported !== "SeenGuardError");
  const lines = [
    `export { ${others.join(", ")} } from "./${name}.bundle.js";`,
    `export { SeenGuardError } from "./errors.js";`,
  ];
  writeWhole(inProject("dist", `${name}.js`), `${lines.join("\n")}\n`);
}

/** For script tags. A page that has no bundler has no choice of entries: it gets all formats. */
async function bundleScripts() {
  const script = (/** @type {string} */ name) => inProject("js", "entries", `${name}.ts`);
  const options = { plugins: [wasmAsHex], format: /** @type {const} */ ("iife"), minify: true };
  await Promise.all([
    bundleFile({
      ...options,
      entryPoints: [script("script-tag")],
      outfile: inProject("dist", "seenguard.iife.js"),
      globalName: "Seenguard",
    }),
    bundleFile({
      ...options,
      entryPoints: [script("engine-js-script-tag")],
      outfile: inProject("dist", "seenguard-engine-js.iife.js"),
      sourcemap: false,
    }),
  ]);
}

/** `npx seenguard`, for Node alone. */
async function bundleCommand() {
  const outfile = inProject("dist", "cli.js");
  await bundleFile({
    entryPoints: [inProject("cli", "main.ts")],
    outfile,
    plugins: [wasmAsHex],
    format: "esm",
    platform: "node",
    target: "node20",
  });
}

/** @param {Entry} entry */
const sourceOf = ({ name, source = `entries/${name}` }) => inProject("js", `${source}.ts`);

/**
 * Returns what the file exports.
 * @param {import("esbuild").BuildOptions & { outfile: string }} options
 */
async function bundleFile(options) {
  const result = await esbuild.build({
    platform: "neutral",
    target,
    sourcemap: true,
    ...options,
    plugins: [cssAsText, luaAsText, ...(options.plugins ?? [])],
    absWorkingDir: inProject(),
    bundle: true,
    // The glue names these as globals, which not every engine has.
    inject: [inProject("js", "text-encoding.ts")],
    legalComments: "none",
    // The same bytes under any charset that a server may claim.
    charset: "ascii",
    metafile: true,
    write: false,
  });
  const isMeant = (/** @type {string} */ path) =>
    options.platform === "node" ? path.startsWith("node:") : path.startsWith("./") || options.external?.includes(path);
  const imports = Object.values(result.metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  const others = imports.filter((path) => !isMeant(path));
  if (others.length > 0) throw new Error(`${options.outfile} imports ${others.join(", ")}`);
  for (const { path, text } of result.outputFiles)
    writeWhole(path, path.endsWith(".map") ? withoutWasm(text) : withOwnExports(text));
  return Object.values(result.metafile.outputs).flatMap((output) => output.exports);
}

/**
 * esbuild makes objects of modules by a loop that finds what a page has put into `Object.prototype`, too, and throws at
 * it.
 * @param {string} script
 */
function withOwnExports(script) {
  return script.replace(
    /for ?\(var (\w+) in (\w+)\)(?=\s*\w+\(\w+, ?\1, ?\{ ?get: ?\2\[\1\])/,
    "for (var $1 of Object.keys($2))",
  );
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
