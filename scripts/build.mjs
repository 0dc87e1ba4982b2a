/**
 * Builds the package into dist/: `npm run build`.
 *
 *     src/ ── cargo ──► target/wasm/ ── wasm-bindgen, wasm-opt ──► js/generated/: three modules and their glue
 *     each module ── wasm2js ──► js/generated/<module>/engine-js.js: the engine as JavaScript
 *     js/entries/ + js/generated/ + js/cli/ ── esbuild ──► dist/*.js, dist/*.cjs, the script-tag files, the command;
 *                                                          of the guard also dist/*.development.js
 *     js/types/ ──► dist/*.d.ts, dist/*.d.cts
 *     dist/, docs/, a folder for each subpath, for old resolvers ──► target/npm/, which is packed
 *
 * Files are replaced atomically, so that a program which reads dist/ meanwhile never reads half a file.
 */
import { pathToFileURL } from "node:url";
import { bindModules, compileModules, modules, translateModules } from "./build/wasm.mjs";
import { removeOutdated } from "./lib/files.mjs";
import { inProject } from "./lib/paths.mjs";
import { withProgress } from "./lib/run.mjs";
import { main, setUp } from "./setup.mjs";

/** Builds all. @param {{ sizes?: boolean }} [options] sizes: whether to print the package's size in an app */
export async function build({ sizes = true } = {}) {
  await setUp({}, compileModules);
  await bindModules();
  await translateModules();
  // These use npm packages, which are installed only now.
  const [{ bundle }, { assemblePackage }, { copyTypes }, { measureSizes }] = await Promise.all([
    import("./build/bundle.mjs"),
    import("./build/package.mjs"),
    import("./build/types.mjs"),
    import("./build/sizes.mjs"),
  ]);
  await bundle();
  copyTypes();
  removeOutdated(inProject("dist"));
  assemblePackage();
  if (sizes) console.log(await withProgress("measuring sizes", measureSizes));
}

/** Builds only the files of dist/ that the demo imports. */
export async function buildForDemo() {
  const wanted = modules.filter(({ inDemo }) => inDemo);
  await setUp({}, () => compileModules(wanted));
  await bindModules(wanted);
  const { bundleForDemo } = await import("./build/bundle.mjs");
  await bundleForDemo();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(() => build());
