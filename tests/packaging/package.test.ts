/** What is in the package, and what is not. */
import { readdirSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { execFile } from "node:child_process";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build, transform, type Platform } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { describe, expect, inject, test } from "vitest";
import {
  bundles,
  entries,
  isApart,
  manifestExports,
  manifestSideEffects,
  specifierOf,
  workerBuilds,
} from "../../scripts/build/entries.mjs";
import { licensesFile, thirdPartyLicenses } from "../../scripts/build/licenses.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The modules of an entry in dist/: one that inlines its Wasm is built for workers at the edge, too. */
const modulesOf = (entry: (typeof bundles)[number]): string[] => {
  const { name, inlinesWasm } = entry;
  const workers = inlinesWasm ? workerBuilds.map(({ condition }) => `${name}.${condition}.js`) : [];
  return [isApart(entry) ? `${name}.bundle.js` : `${name}.js`, `${name}.cjs`, ...workers];
};

const generated = bundles.filter(({ isGenerated }) => isGenerated).flatMap(modulesOf);
const written = bundles.filter(({ isGenerated }) => !isGenerated).flatMap(modulesOf);

test("package.json exports what the table of entries says", async () => {
  expect(await manifestOf(root), "node scripts/build/entries.mjs --update").toMatchObject({
    exports: manifestExports(),
    sideEffects: manifestSideEffects(),
  });
});

test("the package holds what users need and nothing else", () => {
  const dist = [
    ...entries.filter(isApart).map(({ name }) => `${name}.js`),
    ...[...generated, "seenguard-engine-js.iife.js"],
    ...[...written, "seenguard.iife.js", "cli.js"].flatMap((name) => [name, `${name}.map`]),
    ...entries.flatMap(({ name }) => [`${name}.d.ts`, `${name}.d.cts`]),
    ...["seenguard.wasm", "formats.wasm", "server.wasm"],
  ];
  const pages = readdirSync(join(root, "docs")).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : []));
  const folders = entries.map(({ name }) => name).filter((name) => name !== "index");
  expect(inject("packedFiles")).toEqual(
    [
      ...["LICENSE-APACHE", "LICENSE-MIT", licensesFile, "README.md", "SECURITY.md", "package.json"],
      ...folders.map((name) => `${name}/package.json`),
      ...pages,
      ...dist.map((name) => `dist/${name}`),
    ].sort(),
  );
});

test("it tells the licences of all that others have written of it", async () => {
  const shipped = await readFile(join(inject("installed"), "node_modules/seenguard", licensesFile), "utf8");
  expect(shipped, "node scripts/build/licenses.mjs --update").toBe(await thirdPartyLicenses());
});

test("it depends on no other package, and demands none", async () => {
  const manifest = await manifestOf(root);
  for (const field of ["dependencies", "optionalDependencies", "bundleDependencies"]) {
    expect(manifest).not.toHaveProperty(field);
  }
  // Those of the adapters are for apps that have them already.
  const { peerDependencies, peerDependenciesMeta } = manifest;
  const optional = Object.entries(peerDependenciesMeta).filter(([, meta]) => meta.optional);
  expect(optional.map(([name]) => name)).toEqual(Object.keys(peerDependencies));
});

test("installing it runs nothing and brings nothing else", async () => {
  const installed = join(inject("installed"), "node_modules");
  const packages = (await readdir(installed)).filter((name) => !name.startsWith(".") && !name.startsWith("react"));
  expect(packages).toEqual(["scheduler", "seenguard"]); // the first is React's
  expect(await manifestOf(join(installed, "seenguard"))).not.toHaveProperty("scripts");
});

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly string[];
}

test("each script has a source map with its sources, and names no place on the machine that built it", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  for (const name of [...written, "seenguard.iife.js", "cli.js"]) {
    const script = await readFile(join(dist, name), "utf8");
    const text = await readFile(join(dist, `${name}.map`), "utf8");
    const { sources, sourcesContent } = JSON.parse(text) as SourceMap;
    expect(script.trimEnd().endsWith(`//# sourceMappingURL=${name}.map`), name).toBe(true);
    expect(sources.some((source) => /\bjs\/.*\.ts$/.test(source))).toBe(true);
    expect(sourcesContent).toHaveLength(sources.length);
    expect(script + text).not.toContain(root);
  }
});

test("it writes no HTML and runs no text as code", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  for (const name of (await readdir(dist)).filter((name) => /\.c?js$/.test(name))) {
    const script = await readFile(join(dist, name), "utf8");
    const found = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|setTimeout\("|[^.\w](?:eval|Function)\(/.exec(
      script,
    );
    expect(found?.[0], name).toBeUndefined();
  }
});

test("modules are shipped as they were written, what is generated and script-tag files minified", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  const linesOf = async (name: string) => {
    const lines = (await readFile(join(dist, name), "utf8")).split("\n");
    // Modules as text, the panel's stylesheet and a call of the glue are one line each.
    const isData = (line: string) => /[0-9a-f]{300}|":host\{|':host\{|^\s*wasm\.\w+\(/.test(line);
    return { lines: lines.length, long: lines.filter((line) => line.length > 400 && !isData(line)) };
  };
  for (const name of written) {
    const { lines, long } = await linesOf(name);
    expect(lines, name).toBeGreaterThan(30);
    expect(long, name).toEqual([]);
  }
  for (const name of [...generated, "seenguard.iife.js"]) expect((await linesOf(name)).lines).toBeLessThan(50);
});

describe("what the oldest browsers of docs/platforms.md do not know is not in", () => {
  const dist = () => join(inject("installed"), "node_modules/seenguard/dist");
  /** Such as "chrome96", as esbuild names them. */
  const oldest = async () => {
    const page = await readFile(join(root, "docs/platforms.md"), "utf8");
    const [, ...versions] = /Chromium (\d+), Safari (\d+), Firefox (\d+) and newer/.exec(page) ?? [];
    expect(versions).toHaveLength(3);
    return ["chrome", "safari", "firefox"].map((name, index) => name + String(versions[index]));
  };

  test("a script: a compiler for them has nothing to do", async () => {
    const target = await oldest();
    const scripts = (await readdir(dist())).filter((name) => /\.c?js$/.test(name) && name !== "cli.js");
    expect(scripts.length).toBeGreaterThan(20);
    for (const name of scripts) {
      const script = await readFile(join(dist(), name), "utf8");
      const [compiled, same] = await Promise.all([transform(script, { target }), transform(script)]);
      expect(compiled.code === same.code, name).toBe(true);
    }
    const newer = "class A { static { this.a ||= 1; } }";
    expect((await transform(newer, { target })).code).not.toBe((await transform(newer)).code);
  });

  test("a Wasm module: it is valid with what they know alone", async () => {
    const known = ["mutable-globals", "multivalue", "sign-ext", "nontrapping-float-to-int", "bulk-memory"];
    const features = [...known, "bulk-memory-opt", "reference-types"].map((name) => `--enable-${name}`);
    const wasmOpt = join(root, "node_modules/binaryen/bin/wasm-opt");
    const validate = (name: string, given: readonly string[]) =>
      promisify(execFile)(process.execPath, [
        wasmOpt,
        join(dist(), name),
        "--mvp-features",
        ...given,
        "-o",
        "/dev/null",
      ]);
    for (const name of ["seenguard.wasm", "formats.wasm", "server.wasm"]) {
      await validate(name, features);
      await expect(validate(name, [])).rejects.toThrow(/validator error/);
    }
  });
});

describe.each(
  (["browser", "neutral", "node"] as const).flatMap((platform) =>
    entries
      .filter(({ peers, isShared }) => !peers && !isShared)
      .map((entry) => ({ platform, name: entry.name, specifier: specifierOf(entry) })),
  ),
)("a bundler for $platform", ({ platform, name, specifier }) => {
  test.each([
    { way: `import("${specifier}")`, contents: `export * from "${specifier}";`, ending: ".js" },
    { way: `require("${specifier}")`, contents: `module.exports = require("${specifier}");`, ending: ".cjs" },
  ])("finds $way, the errors, and beside them what is only imported on demand", async ({ contents, ending }) => {
    const { files, onDemand } = await bundled(contents, platform);
    const engine = name === "server" ? [] : [`engine-js${ending}`];
    const isSplit = ending === ".js";
    expect(files).toEqual(
      [isSplit ? `${name}.bundle.js` : `${name}.cjs`, `errors${ending}`, ...(isSplit ? [] : engine)].sort(),
    );
    expect(onDemand).toEqual(isSplit ? engine : []);
  });
});

test("a page has nothing of the server in its script", async () => {
  const { files } = await bundled(
    'export { SeenGuard } from "seenguard"; export { SeenGuardError } from "seenguard/server";',
    "browser",
  );
  expect(files).toEqual(["errors.js", "index.bundle.js"]);
  const script = await readFile(join(inject("installed"), "node_modules/seenguard/dist/index.bundle.js"), "utf8");
  expect(script).not.toContain("ShardChain");
});

test("a bundler keeps an import of seenguard/devtools alone, which defines the panel, and of no other entry", async () => {
  expect((await bundled('import "seenguard/devtools";', "browser")).files).toEqual(["devtools.js"]);
  const others = entries.filter(({ hasEffect, peers }) => !hasEffect && !peers).map(specifierOf);
  const imports = others.map((specifier) => `import "${specifier}";`).join("\n");
  expect((await bundled(imports, "browser")).files).toEqual([]);
});

/** The package's files that a bundler takes into an app's script, and those that it makes scripts of their own. */
async function bundled(contents: string, platform: Platform): Promise<{ files: string[]; onDemand: string[] }> {
  const { metafile } = await build({
    stdin: { contents, resolveDir: inject("installed") },
    platform,
    bundle: true,
    splitting: true,
    format: "esm",
    outdir: inject("installed"),
    metafile: true,
    write: false,
  });
  const outputs = Object.entries(metafile.outputs);
  const filesOf = (chosen: typeof outputs) =>
    chosen
      .flatMap(([, { inputs }]) => Object.entries(inputs))
      .filter(([path, { bytesInOutput }]) => path.includes("seenguard/dist/") && bytesInOutput > 0)
      .map(([path]) => basename(path))
      .sort();
  const isApp = ([path]: [string, unknown]) => path.endsWith("stdin.js");
  return { files: filesOf(outputs.filter(isApp)), onDemand: filesOf(outputs.filter((output) => !isApp(output))) };
}

test("publint, which knows how bundlers and Node read a manifest, has nothing to say", async () => {
  const manifest = await manifestOf(root);
  const { messages } = await publint({ pkgDir: join(inject("installed"), "node_modules/seenguard"), strict: true });
  expect(messages.map((message) => formatMessage(message, manifest))).toEqual([]);
});

test("its types are right however they are resolved", async () => {
  // A module's bytes have none: what an import of it gives is for the app's bundler to say.
  const withoutTypes = ["--exclude-entrypoints", "./seenguard.wasm", "./formats.wasm"];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      join(root, "node_modules/@arethetypeswrong/cli/dist/index.js"),
      ...[inject("tarball"), "--no-definitely-typed", "--format", "json"],
      ...withoutTypes,
    ],
    { maxBuffer: 2 ** 24 },
  );
  const { analysis, problems } = JSON.parse(stdout) as { analysis: { entrypoints: object }; problems: object };
  expect(Object.keys(analysis.entrypoints)).toHaveLength(entries.length + 1); // package.json is one
  expect(problems).toEqual({});
});

interface Manifest {
  readonly peerDependencies: Record<string, string>;
  readonly peerDependenciesMeta: Record<string, { readonly optional?: boolean }>;
}

async function manifestOf(directory: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(directory, "package.json"), "utf8")) as Manifest;
}
