/** The package as a script that runs in documents of a simulated browser. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import type { Mutant } from "./mutants.js";

const inProject = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** The global names that a document gives the package. The package finds nothing else of this process. */
const NAMES = [
  ...["globalThis", "window", "self", "document", "navigator", "location", "indexedDB", "IDBKeyRange", "localStorage"],
  ...["sessionStorage", "setTimeout", "clearTimeout", "queueMicrotask", "Date", "Math", "performance", "crypto"],
  ...["fetch", "addEventListener", "removeEventListener", "WebAssembly", "MessageChannel", "process"],
] as const;

export type Globals = Record<(typeof NAMES)[number], unknown>;
export type Package = typeof import("seenguard/slim");

/** Runs the package with these globals: each document has a copy of its own. */
export type LoadPackage = (globals: Globals) => Package;

/** Changes the source that a mutant names. */
function mutating({ file, from, to }: Mutant): esbuild.Plugin {
  const load = ({ path }: esbuild.OnLoadArgs): esbuild.OnLoadResult | undefined => {
    if (!path.endsWith(file)) return undefined;
    const source = readFileSync(path, "utf8");
    if (source.split(from).length !== 2) throw new Error(`not once in ${file}: ${from}`);
    return { contents: source.replace(from, () => to), loader: "ts" };
  };
  return { name: "mutating", setup: (build) => build.onLoad({ filter: /\/js\/(guard|storage)\/[^/]*\.ts$/ }, load) };
}

/** Bundles the package's own sources, with a mutant of them if there is one. */
export async function bundlePackage(mutant?: Mutant): Promise<LoadPackage> {
  const { outputFiles } = await esbuild.build({
    entryPoints: [inProject("js/entries/slim.ts")],
    ...{ bundle: true, write: false, format: "iife", globalName: "bundled", platform: "neutral", target: "node20" },
    define: { PACKAGE_VERSION: '"0"', __DEV__: "true" },
    inject: [inProject("js/platform/text-encoding.ts")],
    plugins: mutant ? [mutating(mutant)] : [],
  });
  const [file] = outputFiles;
  if (!file) throw new Error("nothing was bundled");
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- A script of the project, whose globals are the simulation's.
  const run = new Function(...NAMES, `${file.text}\nreturn bundled;`) as (...values: unknown[]) => Package;
  return (globals) => run(...NAMES.map((name) => globals[name]));
}

/** The page's Wasm module, compiled once. */
export const wasmModule = (): WebAssembly.Module =>
  new WebAssembly.Module(readFileSync(inProject("dist/seenguard.wasm")));
