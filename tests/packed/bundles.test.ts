/** What bundlers make of a page with the installed package, and what they say of it. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build, type Format } from "esbuild";
import { build as buildByVite, createLogger, type Rolldown } from "vite";
import { describe, expect, inject, test } from "vitest";
import webpack from "webpack";

/** A file of an app's bundle, and what is in it. */
interface Bundle {
  /** Scripts that the bundler made. */
  readonly scripts: number;
  /** Names of the modules in them. */
  readonly files: readonly string[];
  /** What the bundler said. */
  readonly warnings: readonly string[];
}

interface Bundler {
  readonly name: string;
  readonly bundle: (entry: string) => Promise<Bundle>;
}

/** All that make one file of an app, as they are told to. */
const intoOneFile: readonly Bundler[] = [
  { name: "esbuild without splitting", bundle: (entry) => byEsbuild(entry, "esm") },
  { name: "esbuild as a script", bundle: (entry) => byEsbuild(entry, "iife") },
  { name: "Vite as a script", bundle: (entry) => byVite(entry, { format: "iife" }) },
  { name: "Vite with one chunk", bundle: (entry) => byVite(entry, { codeSplitting: false }) },
  { name: "webpack with one chunk", bundle: (entry) => byWebpack(entry, 1) },
];

const asTheyAre: readonly Bundler[] = [
  { name: "esbuild", bundle: (entry) => byEsbuild(entry, "esm") },
  { name: "Vite", bundle: (entry) => byVite(entry, {}) },
  { name: "webpack", bundle: (entry) => byWebpack(entry) },
];

/** A page's script in a folder of its own beside the installed package; its path. */
async function appOf(script: string): Promise<string> {
  const entry = join(await mkdtemp(join(inject("installed"), "page-")), "main.js");
  await writeFile(entry, script);
  return entry;
}

async function byEsbuild(entry: string, format: Format): Promise<Bundle> {
  const { metafile, warnings } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    logLevel: "silent",
    format,
  });
  const outputs = Object.values(metafile.outputs);
  return {
    scripts: outputs.length,
    files: outputs.flatMap(({ inputs }) => Object.keys(inputs)).map((file) => basename(file)),
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
  return {
    scripts: chunks.length,
    files: chunks.flatMap(({ moduleIds }) => moduleIds).map((file) => basename(file)),
    warnings,
  };
}

async function byWebpack(entry: string, maxChunks?: number): Promise<Bundle> {
  const compiler = webpack({
    mode: "production",
    entry,
    output: { path: join(entry, "..", "dist") },
    // It advises against a script of over 244 KiB before compression: as text, the Wasm alone has more.
    performance: false,
    plugins: maxChunks === undefined ? [] : [new webpack.optimize.LimitChunkCountPlugin({ maxChunks })],
  });
  const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) => {
    compiler.run((error, result) => {
      if (error) reject(error);
      else resolve(result);
    });
  });
  const { assets = [], modules = [], errors, warnings = [] } = stats?.toJson({ nestedModules: true }) ?? {};
  expect(errors).toEqual([]);
  return {
    scripts: assets.length,
    files: modules.flatMap((module) => [module, ...(module.modules ?? [])]).map(({ name = "" }) => basename(name)),
    warnings: warnings.map(({ message }) => message),
  };
}

const page = (options: string) => `
  import { SeenGuard } from "seenguard";
  SeenGuard.open({ ${options} }).then((guard) => console.log(guard.stats()));`;
const PAGE = page('namespace: "home:ada"');
const PAGE_WITH_FALLBACK = page('namespace: "home:ada", fallback: () => import("seenguard/engine-js")');

const enginesOf = ({ files }: Bundle) => [...new Set(files.filter((file) => /-wasm\.|engine-js/.test(file)))].sort();

describe.each(intoOneFile)("a page in one file, by $name", ({ bundle }) => {
  test("has one engine", async () => {
    const bundled = await bundle(await appOf(PAGE));
    expect(bundled.scripts).toBe(1);
    expect(enginesOf(bundled)).toEqual(["client-wasm.js"]);
  });

  test("has the one that it asks for, too, and no other", async () => {
    const bundled = await bundle(await appOf(PAGE_WITH_FALLBACK));
    expect(bundled.scripts).toBe(1);
    expect(enginesOf(bundled)).toEqual(["client-wasm.js", "engine-js.js"]);
  });
});

test.each(asTheyAre)("$name warns of nothing in a page with the package", async ({ bundle }) => {
  expect((await bundle(await appOf(PAGE))).warnings).toEqual([]);
});
