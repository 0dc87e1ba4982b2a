/** The installed package with other tools: old resolvers, bundles, workers at the edge. */
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { build as buildByVite } from "vite";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import webpack from "webpack";
import { entries, fileOf, isApart, specifierOf } from "../../scripts/build/entries.mjs";
import type { Outcome } from "./apps/scenario.js";
import { expectGuarded, expectServed, type ServerOutcome } from "./scenarios.js";

const installed = (...path: string[]) => join(inject("installed"), ...path);

test("a resolver that knows no exports finds the subpaths", async () => {
  const chosen = entries.filter(({ peers = [] }) => peers.length === 0);
  const specifiers = chosen.map(specifierOf);
  const app = installed("old-resolver.cjs");
  await writeFile(app, specifiers.map((specifier) => `require("${specifier}");`).join("\n"));
  const output = { path: installed("old-resolver") };
  const files = await compile({ entry: app, target: "web", output, resolve: { exportsFields: [] } });
  for (const entry of chosen) expect(files).toContain(installed(`node_modules/seenguard/dist/${fileOf(entry)}.js`));
});

describe("of a bundle", () => {
  const bundlers: { name: string; bundle: (app: string) => Promise<string> }[] = [
    { name: "esbuild", bundle: bundleByEsbuild },
    { name: "webpack", bundle: bundleByWebpack },
    { name: "Vite", bundle: bundleByVite },
  ];

  test.each(bundlers)("by $name that has SeenGuardError alone the package is under 1 KB", async ({ bundle }) => {
    for (const specifier of entries.filter(isApart).map(specifierOf)) {
      const script = await bundle(`
        import { SeenGuardError } from "${specifier}";
        console.log(SeenGuardError);`);
      expect(script).toContain("SeenGuardError");
      expect(brotliCompressSync(script).length).toBeLessThan(1000);
    }
  });

  const splitting = bundlers.filter(({ name }) => name !== "esbuild");
  test.each(splitting)("by $name that has hooks over seenguard/slim no other engine is loaded", async ({ bundle }) => {
    const withHooks = (entry: string) =>
      bundle(`
        import { SeenGuard } from "${entry}";
        import { useSeenGuard } from "seenguard/react";
        console.log(() => useSeenGuard({ namespace: "home:ada", open: SeenGuard.open }));`);
    const wasm = await wasmText();
    expect((await withHooks("seenguard/slim")).includes(wasm)).toBe(false);
    expect((await withHooks("seenguard")).includes(wasm)).toBe(true);
  });
});

/** How the inlined module's text begins. */
async function wasmText(): Promise<string> {
  const { default: text } = (await import(join(installed(), "node_modules/seenguard/dist/client-wasm.js"))) as {
    default: string;
  };
  return text.slice(0, 100);
}

/** The minified script of an app. */
async function bundleByEsbuild(contents: string): Promise<string> {
  const stdin = { contents, resolveDir: installed() };
  const { outputFiles } = await build({ stdin, bundle: true, minify: true, format: "esm", write: false });
  return outputFiles[0]?.text ?? "";
}

async function bundleByWebpack(contents: string): Promise<string> {
  const [entry, path] = [installed("shaken.js"), installed("shaken")];
  await writeFile(entry, contents);
  await compile({ entry, output: { path, filename: "webpack.js" }, optimization: { minimize: true } });
  return readFile(join(path, "webpack.js"), "utf8");
}

async function bundleByVite(contents: string): Promise<string> {
  const [entry, outDir] = [installed("shaken.js"), installed("shaken/vite")];
  await writeFile(entry, contents);
  const rolldownOptions = { input: entry, output: { entryFileNames: "vite.js" } };
  await buildByVite({ root: installed(), configFile: false, logLevel: "warn", build: { outDir, rolldownOptions } });
  return readFile(join(outDir, "vite.js"), "utf8");
}

/** Returns the files that went into it. Rejects if webpack complains of anything. */
async function compile(configuration: webpack.Configuration): Promise<string[]> {
  // Minifying the module's text takes webpack a minute.
  const optimization = { minimize: false };
  const compiler = webpack({ mode: "production", performance: { hints: false }, optimization, ...configuration });
  const { compilation } = await promisify<webpack.Stats>((done) => {
    compiler.run(done as Parameters<typeof compiler.run>[0]);
  })();
  expect([...compilation.errors, ...compilation.warnings].map(({ message }) => message)).toEqual([]);
  return [...compilation.fileDependencies];
}

test.each([
  // As other tools bundle, and as wrangler does: Wasm files stay modules of their own.
  ["/", ["worker", "browser"], "server-engine-js.js"],
  ["/wasm", ["workerd", "worker", "browser"], "server.wasm"],
])("a worker at the edge guards a feed and keeps chains in workerd, at %s", async (path, conditions, engine) => {
  const outdir = installed("workerd/dist");
  const { metafile } = await build({
    entryPoints: [installed("workerd/worker.js")],
    conditions,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    outdir,
    loader: { ".wasm": "copy" },
  });
  const bundled = Object.keys(metafile.inputs).map((input) => basename(input));
  expect(bundled.filter((name) => /^server(-engine-js\.js|\.wasm)$/.test(name))).toEqual([engine]);
  const worker = new Miniflare({
    modules: true,
    modulesRoot: outdir,
    scriptPath: join(outdir, "worker.js"),
    modulesRules: [
      { type: "ESModule", include: ["**/*.js"] },
      { type: "CompiledWasm", include: ["**/*.wasm"] },
    ],
    compatibilityDate: "2026-01-01",
  });
  onTestFinished(() => worker.dispose());
  const response = await worker.dispatchFetch(`http://localhost${path}`);
  const { served, group, guarded } = (await response.json()) as {
    served: ServerOutcome;
    group: string;
    guarded: Outcome;
  };
  expectServed(served);
  expect(group).toBe("a");
  expectGuarded(guarded, "none", "scenario.json", { engine: path === "/wasm" ? "wasm" : "js" });
});
