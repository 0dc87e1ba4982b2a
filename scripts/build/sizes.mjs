/** Measures the package's size in an app: each entry bundled and minified, and the files that are loaded unchanged. */
import { readdirSync, readFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { hashOf, readIfThere, writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { entries, fileOf, specifierOf } from "./entries.mjs";

/** @typedef {{ bytes: number, gzip: number, brotli: number }} Size */

const files = ["seenguard.iife.js", "seenguard.wasm", "formats.wasm"];

const path = inProject("target", "sizes.json");

/** Writes target/sizes.json and returns a table. */
export async function measureSizes() {
  const hash = hashOf(
    readdirSync(inProject("dist"))
      .filter((name) => /\.(js|wasm)$/.test(name))
      .map((name) => inProject("dist", name)),
  );
  const kept = readIfThere(path)?.toString() ?? '{"hash":"","sizes":{}}';
  const known = /** @type {{ hash: string, sizes: Record<string, Size> }} */ (JSON.parse(kept));
  const sizes = known.hash === hash ? known.sizes : await measure();
  writeWhole(path, `${JSON.stringify({ hash, sizes }, undefined, 2)}\n`);
  return table(sizes);
}

/** @returns {Promise<Record<string, Size>>} */
async function measure() {
  const bundles = await Promise.all(
    entries.map(async (entry) => /** @type {const} */ ([specifierOf(entry), sizeOf(await minified(entry))])),
  );
  const asTheyAre = files.map((file) => /** @type {const} */ ([file, sizeOf(readFileSync(inProject("dist", file)))]));
  return Object.fromEntries([...bundles, ...asTheyAre]);
}

/**
 * Bundles an entry as in an app that uses all of it, by `esbuild --bundle --minify`, without an adapter's framework and
 * without modules that are imported on demand.
 * @param {import("./entries.mjs").Entry} entry
 */
async function minified({ peers = [], ...entry }) {
  const { outputFiles } = await build({
    entryPoints: [inProject("dist", `${fileOf(entry)}.js`)],
    external: ["seenguard", ...peers, "./server-engine-js.js", "*.wasm"],
    bundle: true,
    minify: true,
    format: "esm",
    legalComments: "none",
    write: false,
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

/**
 * @param {Uint8Array} content
 * @returns {Size}
 */
function sizeOf(content) {
  return { bytes: content.length, gzip: gzipSync(content, { level: 9 }).length, brotli: brotliSize(content) };
}

/**
 * The size with brotli's best compression, as for files that are compressed once.
 * @param {Uint8Array} content
 */
function brotliSize(content) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  return brotliCompressSync(content, { params }).length;
}

/** @param {Record<string, Size>} sizes */
function table(sizes) {
  const rows = Object.entries(sizes).map(([what, { bytes, gzip, brotli }]) => [
    what,
    ...[bytes, gzip, brotli].map(String),
  ]);
  return [["", "minified", "gzip", "brotli"], ...rows]
    .map(([what = "", ...numbers]) => what.padEnd(28) + numbers.map((number) => number.padStart(10)).join(""))
    .join("\n");
}
