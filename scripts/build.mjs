/**
 * Builds the package into dist/: `npm run build`.
 *
 *     src/ ── cargo ──► Wasm ── wasm-bindgen, wasm-opt ──► dist/seenguard.wasm, js/generated/page/ (the Wasm as text)
 *     the same with other features of the crate ─► dist/formats.wasm; js/generated/chain/; js/generated/whole/;
 *                                                  dist/inspect.wasm, js/generated/inspect/ (its glue)
 *     js/ + js/generated/ ── esbuild ──► dist/*.js, dist/*.cjs
 *     cli/ + js/ ── esbuild ──► dist/inspect.js, the package's command
 *     js/*.d.ts ──► dist/*.d.ts, dist/*.d.cts
 *
 * The Rust part is left out when nothing that it is made from has changed. Files are replaced one by one and whole, so whoever reads dist/ meanwhile
 * never reads half a file.
 */
import { pathToFileURL } from "node:url";
import { setUp, main } from "./setup.mjs";

/** @param {{ quiet?: boolean }} [options] quiet: without the table of sizes */
export async function build({ quiet = false } = {}) {
  await setUp("start");
  // These use npm packages, which are there only now.
  const [{ buildWasm }, { bundle }, { copyTypes }, { measureSizes }] = await Promise.all([
    import("./build/wasm.mjs"),
    import("./build/bundle.mjs"),
    import("./build/types.mjs"),
    import("./build/sizes.mjs"),
  ]);
  await buildWasm();
  await bundle();
  copyTypes();
  const table = measureSizes();
  if (!quiet) console.log(table);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(() => build());
