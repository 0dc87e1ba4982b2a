// @vitest-environment node
/** What an app pays beside the core and its framework: for an adapter less than 2 KB, for the panel less than 6. */
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { entries } from "../../scripts/build/entries.mjs";
import { root } from "../node/docs/examples.js";

const MAX_BYTES = 2_000;
const MAX_BYTES_OF_PANEL = 6_000;

const withoutCore = entries.filter(({ peers }) => peers !== undefined);

test.each(withoutCore)("$name", async ({ name, peers = [] }) => {
  const { outputFiles } = await build({
    entryPoints: [`${root}dist/${name}.js`],
    external: ["seenguard", ...peers],
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
  });
  const bytes = brotliCompressSync(outputFiles[0]?.contents ?? "").length;
  expect(bytes).toBeGreaterThan(100);
  expect(bytes).toBeLessThan(name === "devtools" ? MAX_BYTES_OF_PANEL : MAX_BYTES);
});

test("these are all", () => {
  expect(withoutCore.map(({ name }) => name)).toEqual(["react", "vue", "svelte", "testing", "devtools"]);
});
