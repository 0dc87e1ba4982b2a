// @vitest-environment node
/** An adapter costs an app less than 1.5 KB beside the core and its framework. */
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { entries } from "../../scripts/build/entries.mjs";
import { root } from "../node/docs/examples.js";

const MAX_BYTES = 1_500;

const adapters = entries.filter(({ peers }) => peers !== undefined);

test.each(adapters)("$name", async ({ name, peers = [] }) => {
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
  expect(bytes).toBeLessThan(MAX_BYTES);
});

test("there are four of them", () => {
  expect(adapters.map(({ name }) => name)).toEqual(["react", "vue", "svelte", "testing"]);
});
