/** Bundles the package's entries as ES and CommonJS modules, the script-tag files and the command. */
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as esbuild from "esbuild";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { bundles, developmentFileOf, fileOf, generated, isApart, written } from "./entries.mjs";
import { textOf } from "./wasm-text.mjs";
import { modules } from "./wasm.mjs";

/** @typedef {import("./entries.mjs").Entry} Entry */

/** The oldest supported engines. */
const target = ["chrome96", "safari15", "node20"];

const { version } = /** @type {{ version: string }} */ (JSON.parse(await readFile(inProject("package.json"), "utf8")));

/** Inlines a Wasm module as an encoded string, the default export. */
const wasmAsText = /** @satisfies {import("esbuild").Plugin} */ ({
  name: "wasm-as-text",
  setup(build) {
    build.onLoad({ filter: /\.wasm$/ }, async ({ path }) => ({ contents: await textModuleOf(path) }));
  },
});

/** @param {string} path of a Wasm module */
const textModuleOf = async (path) => `export default "${textOf(await readFile(path))}";\n`;

/** Imports the encoded Wasm from a file in dist/, which keeps it out of source maps. */
const wasmAsTextFile = /** @satisfies {import("esbuild").Plugin} */ ({
  name: "wasm-as-text-file",
  setup(build) {
    build.onResolve({ filter: /\.wasm$/ }, ({ path }) => ({
      path: `./${textFileOf(basename(dirname(path)))}`,
      external: true,
      sideEffects: false,
    }));
  },
});

/** @param {string} name of a Wasm module */
const textFileOf = (name) => `${name}-wasm.js`;

/** A module that exports a string, with its lines unchanged. @param {string} text */
const moduleOf = (text) => `export default \`${text.replace(/[\\`$]/g, "\\$&")}\`;`;

/** Inlines a minified style sheet, since bundlers do not minify strings. */
const cssAsText = /** @satisfies {import("esbuild").Plugin} */ ({
  name: "css-as-text",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const options = { loader: /** @type {const} */ ("css"), minify: true, lineLimit: 120, target };
      return { contents: moduleOf((await esbuild.transform(await readFile(path, "utf8"), options)).code) };
    });
  },
});

/** Imports the server's Wasm from its file in dist/. */
const wasmAsFile = /** @satisfies {import("esbuild").Plugin} */ ({
  name: "wasm-as-file",
  setup(build) {
    build.onResolve({ filter: /\.wasm$/ }, () => ({ path: "./server.wasm", external: true }));
    build.onResolve({ filter: /\/engine-source\.js$/ }, () => ({
      path: inProject("js/server/engine-source-workerd.ts"),
    }));
  },
});

/** Imports the JavaScript engines from their files in dist/. */
const generatedAsFile = /** @satisfies {import("esbuild").Plugin} */ ({
  name: "generated-as-file",
  setup(build) {
    build.onResolve({ filter: /\/engine-js\.js$/ }, ({ path, resolveDir }) => {
      const source = join(resolveDir, path.replace(/\.js$/, ".ts"));
      const entry = generated.find((entry) => sourceOf(entry) === source);
      return entry && { path: `./${fileOf(entry)}.js`, external: true, sideEffects: false };
    });
  },
});

/** Imports the error class from its file in dist/, so that all builds share it. */
const errorsAsFile = /** @satisfies {import("esbuild").Plugin} */ ({
  name: "errors-as-file",
  setup(build) {
    build.onResolve({ filter: /\/errors\.js$/ }, () => ({ path: "./errors.js", external: true }));
  },
});

export async function bundle() {
  await Promise.all([
    bundleModules(written.filter(({ hasWasmFile }) => !hasWasmFile)),
    bundleModulesWithWasmFile(),
    bundleForDevelopment(),
    ...modules.map(writeText),
    ...generated.map(bundleGenerated),
    bundleScripts(),
  ]);
}

/** Bundles the modules that the demo imports. */
export async function bundleForDemo() {
  const isWanted = (/** @type {{ inDemo?: true }} */ { inDemo }) => inDemo;
  await Promise.all([bundleModules(written.filter(isWanted)), ...modules.filter(isWanted).map(writeText)]);
}

/**
 * Writes a Wasm module's encoded string as an ES module. CommonJS code reads the bytes from a file instead: bundlers
 * use ES modules even for `require`.
 * @param {import("./wasm.mjs").WasmModule} module
 */
async function writeText({ name, file }) {
  const path = inProject("dist", textFileOf(name));
  writeWhole(path, await textModuleOf(inProject("js", "generated", name, "seenguard.wasm")));
  const lines = [
    `const { readFileSync } = require("node:fs");`,
    `Object.defineProperty(exports, "__esModule", { value: true });`,
    `Object.defineProperty(exports, "default", { get: () => readFileSync(\`\${__dirname}/${file}\`) });`,
  ];
  writeWhole(path.replace(/\.js$/, ".cjs"), `${lines.join("\n")}\n`);
}

/** Not minified: apps' bundlers do that, and people debug the code. */
const asModules = /** @satisfies {import("esbuild").BuildOptions} */ ({
  format: "esm",
  outdir: inProject("dist"),
  external: ["seenguard", "node:*", ...bundles.flatMap(({ peers = [] }) => peers)],
});

/** Bundles entries; their common code goes to a shared file. @param {readonly Entry[]} together */
async function bundleModules(together) {
  const points = together.map((entry) => [`${fileOf(entry)}${isApart(entry) ? ".bundle" : ""}`, sourceOf(entry)]);
  const files = await bundleFiles({
    ...asModules,
    entryPoints: Object.fromEntries(points),
    splitting: true,
    chunkNames: "shared-[hash]",
    plugins: [wasmAsTextFile, generatedAsFile],
  });
  const esmOnly = new Set(written.flatMap((entry) => (entry.isEsmOnly ? [`${fileOf(entry)}.js`] : [])));
  const both = files.filter(({ path }) => !esmOnly.has(basename(path)));
  for (const entry of together.filter(isApart)) both.push(writeApart(entry, files));
  await Promise.all(both.map((file) => writeCommonJs(file)));
}

/**
 * Writes the module that re-exports an entry's bundle and the error class.
 * @param {Entry} entry
 * @param {readonly BundledFile[]} files
 * @returns {BundledFile}
 */
function writeApart(entry, files) {
  const name = fileOf(entry);
  const exports = files.find(({ path }) => basename(path) === `${name}.bundle.js`)?.exports ?? [];
  const others = exports.filter((exported) => exported !== "SeenGuardError");
  const lines = [
    `export { ${others.join(", ")} } from "./${name}.bundle.js";`,
    `export { SeenGuardError } from "./errors.js";`,
  ];
  const file = { path: inProject("dist", `${name}.js`), text: `${lines.join("\n")}\n`, exports };
  writeWhole(file.path, file.text);
  return file;
}

/** Bundles the entries with a Wasm file together, so that an app which imports several has one Wasm instance. */
async function bundleModulesWithWasmFile() {
  const points = written.flatMap((entry) => (entry.hasWasmFile ? [[fileOf(entry), sourceOf(entry)]] : []));
  const options = { splitting: true, chunkNames: "shared-[hash]", plugins: [wasmAsFile] };
  await bundleFiles({ ...asModules, ...options, entryPoints: Object.fromEntries(points) });
}

/** Bundles the development builds, which check arguments and describe mistakes. */
async function bundleForDevelopment() {
  const points = written.flatMap((entry) =>
    entry.hasDevelopment ? [[developmentFileOf(entry), sourceOf(entry)]] : [],
  );
  const files = await bundleFiles({
    ...asModules,
    ...{ entryPoints: Object.fromEntries(points), splitting: true, chunkNames: "shared-[hash]" },
    plugins: [wasmAsTextFile, generatedAsFile, errorsAsFile],
    define: constants({ isDevelopment: true }),
  });
  await Promise.all(files.map((file) => writeCommonJs(file)));
}

/** @param {Entry} entry */
async function bundleGenerated(entry) {
  const entryPoints = { [fileOf(entry)]: sourceOf(entry) };
  await bundleFiles({ ...asModules, entryPoints, minify: true, sourcemap: false });
}

/**
 * Writes a file as a CommonJS module. Of dynamic imports only that of the server's JavaScript engine stays.
 * @param {BundledFile} file
 */
async function writeCommonJs({ path, text }) {
  const script = text.replace(/^\/\/# sourceMappingURL=.*$/m, "");
  const options = /** @type {const} */ ({ format: "cjs", target, platform: "neutral", charset: "ascii" });
  const { code } = await esbuild.transform(script, options);
  const exporting = withOwnExports(code);
  writeWhole(path.replace(/\.js$/, ".cjs"), exporting.replace(/\brequire\("(\.\/[^"]+)\.js"\)/g, 'require("$1.cjs")'));
}

/** Bundles the script-tag files. They include all formats, since a page without a bundler cannot choose entries. */
async function bundleScripts() {
  const script = (/** @type {string} */ name) => inProject("js", "entries", `${name}.ts`);
  const options = { plugins: [wasmAsText], format: /** @type {const} */ ("iife"), minify: true, sourcemap: false };
  const guard = { ...options, entryPoints: [script("script-tag")], globalName: "Seenguard" };
  await Promise.all([
    bundleFiles({ ...guard, outfile: inProject("dist", "seenguard.iife.js") }),
    bundleFiles({
      ...guard,
      outfile: inProject("dist", "seenguard.development.iife.js"),
      define: constants({ isDevelopment: true }),
    }),
    bundleFiles({
      ...options,
      entryPoints: [script("engine-js-script-tag")],
      outfile: inProject("dist", "seenguard-engine-js.iife.js"),
    }),
  ]);
}

/** @param {Entry} entry */
const sourceOf = ({ name, source = `entries/${name}` }) => inProject("js", `${source}.ts`);

/** The values of constants declared in the sources. @param {{ isDevelopment: boolean }} build */
const constants = ({ isDevelopment }) => ({
  PACKAGE_VERSION: JSON.stringify(version),
  __DEV__: JSON.stringify(isDevelopment),
});

/** @typedef {{ path: string, text: string, exports: string[] }} BundledFile */

/**
 * Bundles files. Returns the scripts with their exports.
 * @param {import("esbuild").BuildOptions} options
 * @returns {Promise<BundledFile[]>}
 */
async function bundleFiles(options) {
  const result = await esbuild.build({
    platform: "neutral",
    target,
    sourcemap: true,
    define: constants({ isDevelopment: false }),
    ...options,
    plugins: [cssAsText, ...(options.plugins ?? [])],
    absWorkingDir: inProject(),
    bundle: true,
    // The glue constructs these globals at import, and not every platform has them.
    inject: [inProject("js", "platform", "text-encoding.ts")],
    legalComments: "none",
    // Valid in any charset that a server may declare.
    charset: "ascii",
    metafile: true,
    write: false,
  });
  const outputs = Object.entries(result.metafile.outputs);
  for (const [output, { imports, entryPoint }] of outputs) {
    const isMeant = (/** @type {string} */ path) =>
      path.startsWith("./") ||
      result.metafile.outputs[path] !== undefined ||
      (path.startsWith("node:") ? entryPoint?.startsWith("js/cli/") : options.external?.includes(path));
    const others = imports.map(({ path }) => path).filter((path) => !isMeant(path));
    if (others.length > 0) throw new Error(`${output} imports ${others.join(", ")}`);
  }
  const plain = (/** @type {string} */ script) => withoutBareImports(withOwnExports(script));
  for (const { path, text } of result.outputFiles) writeWhole(path, path.endsWith(".map") ? text : plain(text));
  return outputs
    .filter(([output]) => output.endsWith(".js"))
    .map(([output, { exports }]) => {
      const path = inProject(output);
      const file = result.outputFiles.find((file) => file.path === path);
      return { path, text: plain(file?.text ?? ""), exports };
    });
}

/**
 * Fixes esbuild's loop over a module's exports, which throws if the page has added properties to `Object.prototype`.
 * @param {string} script
 */
function withOwnExports(script) {
  return script.replace(
    /for ?\(var (\w+) in (\w+)\)(?=\s*\w+\(\w+, ?\1, ?\{ ?get: ?\2\[\1\])/,
    "for (var $1 of Object.keys($2))",
  );
}

/**
 * Removes the unused imports by which esbuild preserves the order of shared files. No file has side effects, as
 * package.json declares, and bundlers warn of such imports.
 * @param {string} script
 */
function withoutBareImports(script) {
  return script.replace(/^import "\.\/shared-\w+\.js";$/gm, "");
}
