/** The entries of the package, each one file without imports. */
import { build } from "esbuild";
import { inProject } from "../lib/paths.mjs";
import { writeWhole } from "../lib/files.mjs";

/**
 * @typedef {object} Entry
 * @property {string} source
 * @property {string} file
 * @property {"esm" | "cjs" | "iife"} format
 */

/** @type {readonly Entry[]} */
export const entries = [
  { source: "index.ts", file: "index.js", format: "esm" },
  { source: "index.ts", file: "index.cjs", format: "cjs" },
  { source: "slim.ts", file: "slim.js", format: "esm" },
  { source: "slim.ts", file: "slim.cjs", format: "cjs" },
  { source: "iife.ts", file: "seenguard.iife.js", format: "iife" },
];

export async function bundle() {
  await Promise.all(entries.map(bundleEntry));
}

/** @param {Entry} entry */
async function bundleEntry({ source, file, format }) {
  const result = await build({
    absWorkingDir: inProject(),
    entryPoints: [inProject("js", "entries", source)],
    outfile: inProject("dist", file),
    format,
    ...(format === "iife" ? { globalName: "Seenguard" } : {}),
    bundle: true,
    minify: true,
    platform: "neutral",
    target: ["chrome96", "safari15", "node20"],
    legalComments: "none",
    // The same bytes under any charset that a server may claim.
    charset: "ascii",
    metafile: true,
    write: false,
  });
  const imports = Object.values(result.metafile.outputs).flatMap((output) => output.imports);
  if (imports.length > 0) throw new Error(`dist/${file} imports ${imports.map(({ path }) => path).join(", ")}`);
  for (const { path, contents } of result.outputFiles) writeWhole(path, contents);
}
