/**
 * Bundles of a page with the installed package, and the bundlers' warnings; in Chromium, a page with its Wasm as a file of
 * its own.
 */
import { mkdtemp, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { build, type Format } from "esbuild";
import { build as buildByVite, createLogger, type Rolldown } from "vite";
import { describe, expect, inject, test } from "vitest";
import webpack from "webpack";
import { entries, fileOf, isApart, specifierOf } from "../../scripts/build/entries.mjs";
import { openPage, serve } from "./chromium.js";
import { expectGuarded } from "./scenarios.js";

/** A bundler's output for an app. */
interface Bundle {
  readonly scripts: readonly string[];
  /** Names of the modules in them. */
  readonly files: readonly string[];
  readonly warnings: readonly string[];
}

interface Bundler {
  readonly name: string;
  readonly bundle: (entry: string) => Promise<Bundle>;
}

/** All that make one file of an app, by their options. */
const intoOneFile: readonly Bundler[] = [
  { name: "esbuild without splitting", bundle: (entry) => byEsbuild(entry, "esm") },
  { name: "esbuild as a script", bundle: (entry) => byEsbuild(entry, "iife") },
  { name: "Vite as a script", bundle: (entry) => byVite(entry, { format: "iife" }) },
  { name: "Vite with one chunk", bundle: (entry) => byVite(entry, { codeSplitting: false }) },
  { name: "webpack with one chunk", bundle: (entry) => byWebpack(entry, { maxChunks: 1 }) },
];

const byDefault: readonly Bundler[] = [
  { name: "esbuild", bundle: (entry) => byEsbuild(entry, "esm") },
  { name: "Vite", bundle: (entry) => byVite(entry, {}) },
  { name: "webpack", bundle: (entry) => byWebpack(entry) },
];

/** A page's script in a folder of its own next to the installed package; its path. */
async function appOf(script: string, name = "main.js"): Promise<string> {
  const entry = join(await mkdtemp(join(inject("installed"), "page-")), name);
  await writeFile(entry, script);
  return entry;
}

async function byEsbuild(entry: string, format: Format): Promise<Bundle> {
  const { metafile, warnings, outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    logLevel: "silent",
    format,
  });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs));
  return {
    scripts: outputFiles.map(({ text }) => text),
    files: inputs.map((file) => basename(file)),
    warnings: warnings.map(({ text }) => text),
  };
}

async function byVite(entry: string, output: Rolldown.OutputOptions): Promise<Bundle> {
  const warnings: string[] = [];
  const customLogger = createLogger("silent");
  customLogger.warn = customLogger.warnOnce = (message) => {
    warnings.push(message);
  };
  const built = (await buildByVite({
    root: join(entry, ".."),
    configFile: false,
    customLogger,
    build: { write: false, rolldownOptions: { input: entry, output } },
  })) as Rolldown.RolldownOutput;
  const chunks = built.output.filter((file) => file.type === "chunk");
  const files = chunks.flatMap(({ moduleIds }) => moduleIds).map((file) => basename(file));
  return { scripts: chunks.map(({ code }) => code), files, warnings };
}

async function byWebpack(
  entry: string,
  { maxChunks, ...options }: webpack.Configuration & { maxChunks?: number } = {},
): Promise<Bundle> {
  const compiler = webpack({
    mode: "production",
    entry,
    output: { path: join(entry, "..", "dist") },
    // It advises against a script of over 244 KiB before compression: the inlined Wasm alone has more.
    performance: false,
    plugins: maxChunks === undefined ? [] : [new webpack.optimize.LimitChunkCountPlugin({ maxChunks })],
    ...options,
  });
  const scripts: string[] = [];
  compiler.hooks.emit.tap("scripts", ({ assets }) => {
    scripts.push(...Object.values(assets).map((asset) => asset.source().toString()));
  });
  const stats = await promisify<webpack.Stats>((done) => {
    compiler.run(done as Parameters<typeof compiler.run>[0]);
  })();
  const { modules = [], errors, warnings = [] } = stats.toJson({ nestedModules: true });
  expect(errors).toEqual([]);
  const files = modules.flatMap((module) => [module, ...(module.modules ?? [])]).map(({ name = "" }) => basename(name));
  return { scripts, files, warnings: warnings.map(({ message }) => message) };
}

const page = (options: string) => `
  import { SeenGuard } from "seenguard";
  SeenGuard.open({ ${options} }).then((guard) => console.log(guard.stats()));`;
const PAGE = page('namespace: "home:ada"');
const PAGE_WITH_FALLBACK = page('namespace: "home:ada", fallback: () => import("seenguard/engine-js")');

const enginesOf = ({ files }: Bundle) => [...new Set(files.filter((file) => /-wasm\.|engine-js/.test(file)))].sort();

describe.each(intoOneFile)("a page in one file, by $name", ({ bundle }) => {
  test.each([
    { what: "one engine", script: PAGE, engines: ["client-wasm.js"] },
    { what: "the one that it requests, too", script: PAGE_WITH_FALLBACK, engines: ["client-wasm.js", "engine-js.js"] },
  ])("has $what, and no other", async ({ script, engines }) => {
    const bundled = await bundle(await appOf(script));
    expect(bundled.scripts).toHaveLength(1);
    expect(enginesOf(bundled)).toEqual(engines);
  });
});

describe.each(byDefault)("$name", ({ name, bundle }) => {
  test("has no warnings for a page with the package", async () => {
    expect((await bundle(await appOf(PAGE))).warnings).toEqual([]);
  });

  test("includes under 1 KB of the package in a page that imports only SeenGuardError", async () => {
    for (const specifier of entries.filter(isApart).map(specifierOf)) {
      const { scripts } = await bundle(
        await appOf(`import { SeenGuardError } from "${specifier}"; console.log(SeenGuardError);`),
      );
      expect(scripts.join()).toContain("SeenGuardError");
      expect(brotliCompressSync(scripts.join()).length).toBeLessThan(1000);
    }
  });

  test.skipIf(name === "esbuild")("loads no other engine for hooks over seenguard/slim", async () => {
    const enginesWith = async (entry: string) =>
      enginesOf(
        await bundle(
          await appOf(`
            import { SeenGuard } from "${entry}";
            import { useSeenGuard } from "seenguard/react";
            console.log(() => useSeenGuard({ namespace: "home:ada", open: SeenGuard.open }));`),
        ),
      );
    expect(await enginesWith("seenguard")).toContain("client-wasm.js");
    expect(await enginesWith("seenguard/slim")).toEqual([]);
  });
});

test("a resolver without support for exports finds the subpaths", async () => {
  const chosen = entries.filter(({ peers = [] }) => peers.length === 0);
  const app = await appOf(chosen.map((entry) => `require("${specifierOf(entry)}");`).join("\n"), "main.cjs");
  const resolve = { exportsFields: [] };
  const { files, warnings } = await byWebpack(app, { target: "web", optimization: { minimize: false }, resolve });
  expect(warnings).toEqual([]);
  for (const entry of chosen) expect(files).toContain(`${fileOf(entry)}.js`);
});

test.each([
  { file: "seenguard.wasm", query: "", scenario: "scenario.json" },
  { file: "formats.wasm", query: "?guava", scenario: "guava-scenario.json" },
] as const)("an app bundled by Vite with $file as a file of its own guards its feed", async (given) => {
  const root = join(inject("installed"), "vite-slim");
  await buildByVite({ root, configFile: false, logLevel: "warn", build: { target: "es2022", emptyOutDir: true } });
  const { page, complaints, requests } = await openPage(`${await serve(join(root, "dist"))}/${given.query}`);
  await page.waitForFunction(() => window.outcome !== undefined);
  expectGuarded(await page.evaluate(() => window.outcome), "indexeddb", given.scenario);
  expect(requests.map((url) => /(\w+)-[\w-]{8}\.wasm$/.exec(url)?.[1]).filter(Boolean)).toEqual([
    given.file.replace(".wasm", ""),
  ]);
  expect(complaints).toEqual([]);
});
