/** The content of the package. */
import { existsSync, readdirSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { execFile } from "node:child_process";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build, transform, type Platform } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { describe, expect, inject, test } from "vitest";
import {
  bundles,
  developmentFileOf,
  entries,
  fileOf,
  generated,
  isApart,
  manifestExports,
  manifestSideEffects,
  specifierOf,
  written,
} from "../../scripts/build/entries.mjs";
import { packedPage } from "../../scripts/build/package.mjs";
import { licensesFile, thirdPartyLicenses } from "../../scripts/build/licenses.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The ES module in dist/ with an entry's own code. */
const moduleOf = (entry: (typeof bundles)[number]) => `${fileOf(entry)}${isApart(entry) ? ".bundle" : ""}.js`;
/** A file with the code of several entries, named by its content. */
const isShared = (name: string) => /^shared-\w{8}\.(js|js\.map|cjs)$/.test(name);
/** The ES modules of the builds for development. */
const developmentModules = entries.flatMap((entry) => (entry.hasDevelopment ? [`${developmentFileOf(entry)}.js`] : []));
const commonJsOf = (names: readonly string[]) => names.map((name) => name.replace(/\.js$/, ".cjs"));

test("package.json exports the entries of the table", async () => {
  expect(await manifestOf(root), "node scripts/build/entries.mjs --update").toMatchObject({
    exports: manifestExports(),
    sideEffects: manifestSideEffects(),
  });
});

test("the package contains the files that users need and no others", () => {
  const apart = entries.filter(isApart).map((entry) => `${fileOf(entry)}.js`);
  const texts = ["client", "formats", "server"].map((name) => `${name}-wasm.js`);
  const both = bundles.filter(({ isEsmOnly }) => !isEsmOnly);
  const dist = [
    ...[...apart, ...texts, ...bundles.map(moduleOf), ...commonJsOf([...apart, ...texts, ...both.map(moduleOf)])],
    ...[...developmentModules, ...commonJsOf(developmentModules)],
    ...[...written.map(moduleOf), ...developmentModules].map((name) => `${name}.map`),
    ...["seenguard.iife.js", "seenguard.development.iife.js", "seenguard-engine-js.iife.js"],
    ...entries.map((entry) => `${fileOf(entry)}.d.ts`),
    ...entries.filter(({ isEsmOnly }) => !isEsmOnly).map((entry) => `${fileOf(entry)}.d.cts`),
    ...["seenguard.wasm", "formats.wasm", "server.wasm"],
  ];
  const pages = readdirSync(join(root, "docs")).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : []));
  const folders = entries.map(({ name }) => name).filter((name) => name !== "index");
  const packed = inject("packedFiles").filter((path) => !isShared(basename(path)));
  expect(packed).toEqual(
    [
      ...["LICENSE-APACHE", "LICENSE-MIT", licensesFile],
      ...["CHANGELOG.md", "README.md", "SECURITY.md", "package.json"],
      ...folders.map((name) => `${name}/package.json`),
      ...pages,
      ...dist.map((name) => `dist/${name}`),
    ].sort(),
  );
});

test("it contains the licences of all third-party parts", async () => {
  const shipped = await readFile(join(inject("installed"), "node_modules/seenguard", licensesFile), "utf8");
  expect(shipped, "node scripts/build/licenses.mjs --update").toBe(await thirdPartyLicenses());
});

describe("a link in the package's pages", () => {
  const linksOf = (text: string) => [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target = ""]) => target);

  test("leads to packed files, or to the web", async () => {
    const installed = join(inject("installed"), "node_modules/seenguard");
    const pages = inject("packedFiles").filter((path) => path.endsWith(".md"));
    const links = await Promise.all(
      pages.map(async (page) =>
        linksOf(await readFile(join(installed, page), "utf8")).map((target) => ({ page, target })),
      ),
    );
    const own = links.flat().filter(({ target }) => !target.startsWith("https:"));
    expect(own.length).toBeGreaterThan(100);
    const broken = own.filter(({ page, target }) => !existsSync(join(installed, dirname(page), target)));
    expect(broken).toEqual([]);
  });

  test("leads into the repository, once the manifest has one, if its target is not packed", () => {
    const text = "![a picture](a.png) [b](../src/b.rs#c) [d](d.md)\n```js\n[e](e)\n```\n";
    const packed = new Set(["docs/d.md"]);
    const repository = { url: "git+https://example.com/us/seenguard.git" };
    expect(packedPage("docs/page.md", text, packed, { repository })).toBe(
      "![a picture](https://example.com/us/seenguard/raw/HEAD/docs/a.png) " +
        "[b](https://example.com/us/seenguard/blob/HEAD/src/b.rs#c) [d](d.md)\n```js\n[e](e)\n```\n",
    );
    expect(packedPage("docs/page.md", text, packed, {})).toBe("_a picture_ b [d](d.md)\n```js\n[e](e)\n```\n");
  });
});

test("it has no dependencies and no required peers", async () => {
  const manifest = await manifestOf(root);
  for (const field of ["dependencies", "optionalDependencies", "bundleDependencies"]) {
    expect(manifest).not.toHaveProperty(field);
  }
  // Those of the adapters are for apps that have them already.
  const { peerDependencies, peerDependenciesMeta } = manifest;
  const optional = Object.entries(peerDependenciesMeta).filter(([, meta]) => meta.optional);
  expect(optional.map(([name]) => name)).toEqual(Object.keys(peerDependencies));
});

test("installing it runs no script and installs no other package", async () => {
  const installed = join(inject("installed"), "node_modules");
  const packages = (await readdir(installed)).filter((name) => !name.startsWith(".") && !name.startsWith("react"));
  expect(packages).toEqual(["scheduler", "seenguard"]); // the first is React's
  expect(await manifestOf(join(installed, "seenguard"))).not.toHaveProperty("scripts");
});

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly string[];
}

test("each ES module has a source map of the package's sources only, without paths of the machine that built it", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  const names = [
    ...written.map(moduleOf),
    ...developmentModules,
    ...(await readdir(dist)).filter((name) => isShared(name) && name.endsWith(".js")),
  ];
  for (const name of names) {
    const script = await readFile(join(dist, name), "utf8");
    const text = await readFile(join(dist, `${name}.map`), "utf8");
    const { sources, sourcesContent } = JSON.parse(text) as SourceMap;
    expect(script.trimEnd().endsWith(`//# sourceMappingURL=${name}.map`), name).toBe(true);
    const isOwn = (source: string) => /\b(js|cli)\/.*\.(ts|js|css)$/.test(source);
    expect(
      sources.filter((source) => !isOwn(source)),
      name,
    ).toEqual([]);
    expect(sourcesContent.map((content) => typeof content)).toEqual(sources.map(() => "string"));
    expect(script + text).not.toContain(root);
  }
});

test("it writes no HTML and evaluates no strings as code", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  for (const name of (await readdir(dist)).filter((name) => /\.c?js$/.test(name))) {
    const script = await readFile(join(dist, name), "utf8");
    const found = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|setTimeout\("|[^.\w](?:eval|Function)\(/.exec(
      script,
    );
    expect(found?.[0], name).toBeUndefined();
  }
});

test("modules are shipped unminified, generated code and script-tag files minified", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  const linesOf = async (name: string) => {
    const lines = (await readFile(join(dist, name), "utf8")).split("\n");
    // The panel's stylesheet and a call of the glue are one line each.
    const isData = (line: string) => /":host\{|':host\{|^\s*wasm\.\w+\(/.test(line);
    return { lines: lines.length, long: lines.filter((line) => line.length > 400 && !isData(line)) };
  };
  const both = written.filter(({ isEsmOnly }) => !isEsmOnly).map(moduleOf);
  for (const name of [...written.map(moduleOf), ...commonJsOf(both), ...developmentModules]) {
    const { lines, long } = await linesOf(name);
    expect(lines, name).toBeGreaterThan(5);
    expect(long, name).toEqual([]);
  }
  for (const name of [...generated.map(moduleOf), "seenguard.iife.js"])
    expect((await linesOf(name)).lines).toBeLessThan(50);
});

test("no engine as JavaScript has a loop that rolldown 1.2.1 to 1.2.3 breaks", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  // Its minifier drops a `continue` at the end of a labelled block in a loop of this kind, whatever follows the block.
  const breaks = /\b(?:for\(;;\)|while\((?:!0|1|true)\))\{(?!\})/;
  for (const name of [...generated.map(moduleOf), "seenguard-engine-js.iife.js"]) {
    const script = await readFile(join(dist, name), "utf8");
    expect(breaks.exec(script)?.[0], name).toBeUndefined();
    expect(script).toMatch(/\bdo\{\w+:\{/);
  }
});

describe("the oldest browsers of docs/platforms.md support the syntax of", () => {
  const dist = () => join(inject("installed"), "node_modules/seenguard/dist");
  /** Such as "chrome96", as esbuild names them. */
  const oldest = async () => {
    const page = await readFile(join(root, "docs/platforms.md"), "utf8");
    const [, ...versions] = /Chromium (\d+), Safari (\d+), Firefox (\d+) and newer/.exec(page) ?? [];
    expect(versions).toHaveLength(3);
    return ["chrome", "safari", "firefox"].map((name, index) => name + String(versions[index]));
  };

  test("a script: a compiler for them changes nothing", async () => {
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

  test("a Wasm module: it is valid with their features only", async () => {
    const known = ["mutable-globals", "multivalue", "sign-ext", "nontrapping-float-to-int", "bulk-memory"];
    const features = [...known, "bulk-memory-opt", "reference-types"].map((name) => `--enable-${name}`);
    const wasmOpt = join(root, "node_modules/binaryen/bin/wasm-opt");
    const output = join(inject("installed"), "validated.wasm");
    const validate = (name: string, given: readonly string[]) =>
      promisify(execFile)(process.execPath, [wasmOpt, join(dist(), name), "--mvp-features", ...given, "-o", output]);
    for (const name of ["seenguard.wasm", "formats.wasm", "server.wasm"]) {
      await validate(name, features);
      await expect(validate(name, [])).rejects.toThrow(/validator error/);
    }
  });
});

describe.each(entries.filter(isApart).map((entry) => ({ name: entry.name, specifier: specifierOf(entry) })))(
  "a bundler",
  ({ name, specifier }) => {
    const imported = `export * from "${specifier}";`;
    const required = `module.exports = require("${specifier}");`;
    const isOfServer = ["server", "near-duplicates"].includes(name);
    const inlinedWasm = isOfServer
      ? ["server-wasm.js"]
      : { index: ["client-wasm.js"], formats: ["formats-wasm.js"] }[name];

    test.each<{ platform: Platform; contents: string }>([
      ...(["browser", "neutral", "node"] as const).map((platform) => ({ platform, contents: imported })),
      // Without the condition `module`, as for esbuild's neutral platform, it would use CommonJS.
      ...(["browser", "node"] as const).map((platform) => ({ platform, contents: required })),
    ])("for $platform takes of $contents its Wasm, and no other engine but the server's, on demand", async (app) => {
      const { files, onDemand } = await bundled(app.contents, app.platform);
      const others = files.filter((file) => !isShared(file) && file !== "errors.js" && file !== `${name}.js`);
      expect(others).toEqual([...(inlinedWasm ?? []), `${name}.bundle.js`].sort());
      expect(onDemand).toEqual(isOfServer ? ["server-engine-js.js"] : []);
    });
  },
);

test("a page's script contains no code of the server", async () => {
  const { files } = await bundled(
    'export { SeenGuard } from "seenguard"; export { SeenGuardError } from "seenguard/server";',
    "browser",
  );
  expect(files.filter((file) => !isShared(file))).toEqual(["client-wasm.js", "index.bundle.js"]);
  const scripts = files.map((file) => readFile(join(inject("installed"), "node_modules/seenguard/dist", file), "utf8"));
  expect((await Promise.all(scripts)).join()).not.toContain("ShardChain");
});

test("i5: a bundler keeps a side-effect import of seenguard/devtools and seenguard/testing, and of no other entry", async () => {
  expect((await bundled('import "seenguard/devtools";', "browser")).files).toEqual(["devtools.js"]);
  expect((await bundled('import "seenguard/testing";', "browser")).files).toContain("testing.js");
  const others = entries.filter(({ hasEffect, peers }) => !hasEffect && !peers);
  const imports = others.map((entry) => `import "${specifierOf(entry)}";`).join("\n");
  expect((await bundled(imports, "browser")).files).toEqual([]);
});

/** The package's files in an app's script, and those in separate scripts. */
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

test("publint, which checks manifests for bundlers and Node, reports nothing", async () => {
  const manifest = await manifestOf(root);
  const { messages } = await publint({ pkgDir: join(inject("installed"), "node_modules/seenguard"), strict: true });
  expect(messages.map((message) => formatMessage(message, manifest))).toEqual([]);
});

test("its types are right with every module resolution", async () => {
  // A Wasm file has no types, since the app's bundler decides what its import is. And some entries are not CommonJS.
  const modulesAlone = entries.filter(({ isEsmOnly }) => isEsmOnly).map(({ name }) => `./${name}`);
  const others = ["./seenguard.wasm", "./formats.wasm", ...modulesAlone];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      join(root, "node_modules/@arethetypeswrong/cli/dist/index.js"),
      ...[inject("tarball"), "--no-definitely-typed", "--format", "json"],
      ...["--exclude-entrypoints", ...others],
    ],
    { maxBuffer: 2 ** 24 },
  );
  const { analysis, problems } = JSON.parse(stdout) as { analysis: { entrypoints: object }; problems: object };
  expect(Object.keys(analysis.entrypoints)).toHaveLength(entries.length - modulesAlone.length + 1);
  expect(problems).toEqual({});
});

interface Manifest {
  readonly peerDependencies: Record<string, string>;
  readonly peerDependenciesMeta: Record<string, { readonly optional?: boolean }>;
}

async function manifestOf(directory: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(directory, "package.json"), "utf8")) as Manifest;
}
