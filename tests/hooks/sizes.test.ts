// @vitest-environment node
/**
 * The bytes of an app in addition to the core and its framework. The hooks load the feed before the core, in a file that
 * both share.
 */
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { entries } from "../../scripts/build/entries.mjs";
import { readPage, root } from "../docs/examples.js";
import type { Framework } from "./build.js";
import { productionBytes } from "./production.js";

/** Of the hooks 2,000 until they had reports, roots, guards that stay open or are opened again, lists that wait. */
const MAX_BYTES = { hooks: 2_800, testing: 2_000, devtools: 6_000 } as const;
/**
 * A route's chunk, whose core is loaded on demand. 100 bytes distinguish a page's snapshot from another API's field; 300
 * are for reports, roots, and guards that are opened again.
 */
const MAX_BYTES_OF_CHUNK = 6_900;

const withoutCore = entries.filter(({ peers }) => peers !== undefined);
const hooks = ["react", "vue", "svelte"];
const peers = withoutCore.flatMap((entry) => entry.peers ?? []);

/** Bundles an app that imports these files of dist/. */
async function bundle(...names: string[]) {
  const contents = names.map((name, index) => `export * as _${String(index)} from "./${name}.js";`).join("\n");
  const stdin = { contents, resolveDir: `${root}dist` };
  const external = ["seenguard", ...peers];
  const { outputFiles, metafile } = await build({
    ...{ stdin, external, bundle: true, minify: true, format: "esm", write: false, metafile: true },
  });
  return { bytes: brotliCompressSync(outputFiles[0]?.contents ?? "").length, inputs: Object.keys(metafile.inputs) };
}

const core = bundle("index");

test.each(hooks)("%s", async (name) => {
  const both = await bundle("index", name);
  const bytes = both.bytes - (await core).bytes;
  expect(bytes).toBeGreaterThan(100);
  expect(bytes).toBeLessThan(MAX_BYTES.hooks);
});

test.each(hooks)("%s contains no engine", async (name) => {
  const { bytes, inputs } = await bundle(name);
  expect(inputs.filter((path) => /wasm|index\.|engine/.test(path))).toEqual([]);
  expect(bytes).toBeLessThan(MAX_BYTES_OF_CHUNK);
});

const BUILDS_MS = 120_000;

test.each(["React", "Vue", "Svelte"] as const)(
  "docs/frameworks.md has the size of %s",
  { timeout: BUILDS_MS },
  async (name) => {
    const [, route, opened, eager] =
      new RegExp(`^\\| ${name} +\\| (\\S+) KB +\\| (\\S+) KB +\\| (\\S+) KB`, "m").exec(
        readPage("docs/frameworks.md").text,
      ) ?? [];
    const bytes = await productionBytes(name.toLowerCase() as Framework);
    const said = { route, opened, eager };
    for (const chunk of ["route", "opened", "eager"] as const)
      expect(Math.abs(Number(said[chunk]) * 1000 - bytes[chunk]), chunk).toBeLessThan(50 + 0.01 * bytes[chunk]);
  },
);

test.each(["testing", "devtools"] as const)("%s", async (name) => {
  const { bytes } = await bundle(name);
  expect(bytes).toBeGreaterThan(100);
  expect(bytes).toBeLessThan(MAX_BYTES[name]);
});

test("lazy imports the core by its name, on demand", async () => {
  const { bytes, inputs } = await bundle("lazy");
  expect(inputs.filter((path) => /wasm|index\.|engine|shared/.test(path))).toEqual([]);
  expect(bytes).toBeLessThan(200);
});

test("every adapter has a budget", () => {
  expect(withoutCore.map(({ name }) => name)).toEqual(["lazy", "server/testing", ...hooks, "testing", "devtools"]);
});
