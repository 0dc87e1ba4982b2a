/** The entries of the package, each one file that imports at most one, when it is needed; and the command. */
import { build } from "esbuild";
import { minify } from "terser";
import { brotliSize } from "../lib/brotli.mjs";
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
  { source: "formats.ts", file: "formats.js", format: "esm" },
  { source: "formats.ts", file: "formats.cjs", format: "cjs" },
  { source: "slim.ts", file: "slim.js", format: "esm" },
  { source: "slim.ts", file: "slim.cjs", format: "cjs" },
  { source: "chain.ts", file: "chain.js", format: "esm" },
  { source: "chain.ts", file: "chain.cjs", format: "cjs" },
  // A script tag has no file beside it.
  { source: "formats.ts", file: "seenguard.iife.js", format: "iife" },
];

/** What the other entries load when they need it. */
const onDemand = { import: "./chain.js", require: "./chain.cjs" };

export async function bundle() {
  await Promise.all([...entries.map(bundleEntry), bundleCommand()]);
}

/** `npx seenguard`, for Node alone. Its Wasm module lies beside it. */
async function bundleCommand() {
  await bundleFile({
    entryPoints: [inProject("cli", "main.ts")],
    outfile: inProject("dist", "inspect.js"),
    format: "esm",
    platform: "node",
    target: "node20",
  });
}

/** @param {Entry} entry */
async function bundleEntry({ source, file, format }) {
  await bundleFile({
    entryPoints: [inProject("js", "entries", source)],
    outfile: inProject("dist", file),
    format,
    ...(format === "iife" ? { globalName: "Seenguard" } : {}),
    platform: "neutral",
    target: ["chrome96", "safari15", "node20"],
    ...beside(format === "cjs" ? "require" : "import"),
  });
}

/**
 * Has the entry that another one loads on demand loaded from a file of its own.
 * @param {"import" | "require"} by
 * @returns {Partial<import("esbuild").BuildOptions>}
 */
const beside = (by) => ({
  supported: { "dynamic-import": by === "import" },
  plugins: [
    {
      name: "beside",
      setup(build) {
        build.onResolve({ filter: /\/entries\/chain\.js$/ }, ({ kind }) =>
          kind === "dynamic-import" ? { path: onDemand[by], external: true } : undefined,
        );
      },
    },
  ],
});

/** @param {import("esbuild").BuildOptions & { outfile: string }} options */
async function bundleFile(options) {
  const result = await build({
    ...options,
    absWorkingDir: inProject(),
    bundle: true,
    minify: true,
    legalComments: "none",
    // The same bytes under any charset that a server may claim.
    charset: "ascii",
    metafile: true,
    write: false,
  });
  const imports = Object.values(result.metafile.outputs)
    .flatMap((output) => output.imports.map(({ path }) => path))
    .filter((path) => options.platform !== "node" || !path.startsWith("node:"))
    .filter((path) => !Object.values(onDemand).includes(path));
  if (imports.length > 0) throw new Error(`${options.outfile} imports ${imports.join(", ")}`);
  for (const { path, text } of result.outputFiles) writeWhole(path, await squeeze(text, options.format));
}

/** What a compressor sees again costs little: these make the same things look the same. */
const alike = { passes: 3, hoist_funs: true, sequences: false, unsafe_methods: true };

/** Other ways to write the same. */
const variants = [{}, { comparisons: false }, { collapse_vars: false }, { join_vars: false }, { booleans: false }];

/**
 * What esbuild minified, a twentieth smaller: terser inlines across functions and names by frequency. Brotli splits a script into blocks by trial, so
 * that scripts of the same length that say the same differ by some hundred bytes: the one that comes out smallest is taken.
 * @param {string} script
 * @param {import("esbuild").Format | undefined} format
 */
async function squeeze(script, format) {
  const written = await Promise.all(
    variants.map(async (variant) => {
      const { code } = await minify(script, {
        ecma: 2020,
        module: format === "esm",
        // The one outermost name of an IIFE is what the page sees.
        toplevel: format !== "iife",
        compress: { ...alike, ...variant },
        format: { ascii_only: true },
      });
      if (code === undefined) throw new Error("terser returned nothing");
      return { code, size: brotliSize(Buffer.from(code)) };
    }),
  );
  return written.reduce((best, other) => (other.size < best.size ? other : best)).code;
}
