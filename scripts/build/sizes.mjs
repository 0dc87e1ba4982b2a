/** What each entry weighs: as it is, and as servers send it. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { brotliSize } from "../lib/brotli.mjs";
import { inProject } from "../lib/paths.mjs";
import { hashOf, readIfThere, writeWhole } from "../lib/files.mjs";
import { entries } from "./bundle.mjs";

/** @typedef {{ bytes: number, gzip: number, brotli: number }} Size */

const files = [...entries.map(({ file }) => file), "seenguard.wasm", "formats.wasm"];

/** Writes dist/sizes.json and returns a table. */
export function measureSizes() {
  const paths = files.map((file) => inProject("dist", file));
  const hash = hashOf(paths);
  const kept = readIfThere(inProject("dist", "sizes.json"))?.toString() ?? '{"hash":"","sizes":{}}';
  const known = /** @type {{ hash: string, sizes: Record<string, Size> }} */ (JSON.parse(kept));
  const sizes =
    known.hash === hash
      ? known.sizes
      : Object.fromEntries(files.map((file, index) => [file, sizeOf(paths[index] ?? "")]));
  writeWhole(inProject("dist", "sizes.json"), `${JSON.stringify({ hash, sizes }, undefined, 2)}\n`);
  return table(sizes);
}

/**
 * @param {string} path
 * @returns {Size}
 */
function sizeOf(path) {
  const content = readFileSync(path);
  return { bytes: content.length, gzip: gzipSync(content, { level: 9 }).length, brotli: brotliSize(content) };
}

/** @param {Record<string, Size>} sizes */
function table(sizes) {
  const rows = Object.entries(sizes).map(([file, { bytes, gzip, brotli }]) => [
    file,
    ...[bytes, gzip, brotli].map(String),
  ]);
  return [["dist/", "minified", "gzip", "brotli"], ...rows]
    .map(([file = "", ...numbers]) => file.padEnd(20) + numbers.map((number) => number.padStart(10)).join(""))
    .join("\n");
}
