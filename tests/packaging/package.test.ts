/** What is in the package, and what is not. */
import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build, type Platform } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { expect, inject, test } from "vitest";
import { bundles, entries, manifestExports, specifierOf, workerBuilds } from "../../scripts/build/entries.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The modules of an entry in dist/: one that inlines its Wasm is built for workers at the edge, too. */
const modulesOf = ({ name, inlinesWasm }: (typeof bundles)[number]): string[] => {
  const workers = inlinesWasm ? workerBuilds.map(({ condition }) => `${name}.${condition}.js`) : [];
  return [`${name}.js`, `${name}.cjs`, ...workers];
};

test("package.json exports what the table of entries says", async () => {
  expect(await manifestOf(root), "node scripts/build/entries.mjs --update").toHaveProperty(
    "exports",
    manifestExports(),
  );
});

test("the package holds what users need and nothing else", () => {
  const scripts = [...bundles.flatMap(modulesOf), "seenguard.iife.js", "inspect.js"];
  const dist = [
    ...scripts.flatMap((name) => [name, `${name}.map`]),
    ...entries.flatMap(({ name }) => [`${name}.d.ts`, `${name}.d.cts`]),
    ...["seenguard.wasm", "formats.wasm", "server.wasm"],
  ];
  const folders = entries.map(({ name }) => name).filter((name) => name !== "index");
  expect(inject("packedFiles")).toEqual(
    [
      ...["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"],
      ...folders.map((name) => `${name}/package.json`),
      ...dist.map((name) => `dist/${name}`),
    ].sort(),
  );
});

test("it depends on no other package", async () => {
  const list = await promisify(execFile)("npm", ["ls", "--omit=dev", "--json"], { cwd: root });
  expect(JSON.parse(list.stdout)).not.toHaveProperty("dependencies");
  const manifest = await manifestOf(root);
  for (const field of ["dependencies", "peerDependencies", "optionalDependencies", "bundleDependencies"]) {
    expect(manifest).not.toHaveProperty(field);
  }
});

test("installing it runs nothing and brings nothing else", async () => {
  const installed = join(inject("installed"), "node_modules");
  const packages = (await readdir(installed)).filter((name) => !name.startsWith(".") && !name.startsWith("react"));
  expect(packages).toEqual(["scheduler", "seenguard"]); // the first is React's
  const { scripts } = await manifestOf(join(installed, "seenguard"));
  expect(Object.keys(scripts)).not.toContain("install");
  expect(Object.keys(scripts)).not.toContain("postinstall");
});

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly string[];
}

test("each script has a source map with its sources, and names no place on the machine that built it", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  const scripts = (await readdir(dist)).filter((name) => /\.c?js$/.test(name));
  expect(scripts).toHaveLength(bundles.flatMap(modulesOf).length + 2);
  for (const name of scripts) {
    const script = await readFile(join(dist, name), "utf8");
    const text = await readFile(join(dist, `${name}.map`), "utf8");
    const { sources, sourcesContent } = JSON.parse(text) as SourceMap;
    expect(script.trimEnd().endsWith(`//# sourceMappingURL=${name}.map`), name).toBe(true);
    expect(sources.some((source) => /\bjs\/.*\.ts$/.test(source))).toBe(true);
    expect(sourcesContent).toHaveLength(sources.length);
    expect(script + text).not.toContain(root);
  }
});

test("modules are shipped as they were written, the script-tag file minified", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  const linesOf = async (name: string) => {
    const lines = (await readFile(join(dist, name), "utf8")).split("\n");
    return { lines: lines.length, long: lines.filter((line) => line.length > 400 && !/[0-9a-f]{300}/.test(line)) };
  };
  for (const name of bundles.flatMap(modulesOf)) {
    const { lines, long } = await linesOf(name);
    expect(lines, name).toBeGreaterThan(30);
    expect(long, name).toEqual([]);
  }
  expect((await linesOf("seenguard.iife.js")).lines).toBeLessThan(50);
});

test.each(
  (["browser", "neutral", "node"] as const).flatMap((platform) =>
    entries
      .filter(({ peers, isShared }) => !peers && !isShared)
      .map((entry) => ({ platform, name: entry.name, specifier: specifierOf(entry) })),
  ),
)("a bundler for $platform finds one file as $specifier, and that of the errors", async (entry) => {
  for (const [contents, ending] of [
    [`export * from "${entry.specifier}";`, ".js"],
    [`module.exports = require("${entry.specifier}");`, ".cjs"],
  ] as const) {
    const files = (await bundled(contents, entry.platform)).map(({ name }) => name);
    expect(files).toEqual([entry.name + ending, `errors${ending}`].sort());
  }
});

test("a page has nothing of the server in its bundle", async () => {
  const [index] = await bundled('export { SeenGuard } from "seenguard";', "browser");
  expect(index?.bytes).toBeGreaterThan(0);
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  expect(await readFile(join(dist, "index.js"), "utf8")).not.toContain("ShardChain");
});

/** The package's files that a bundler takes into one file, and how much of each. */
async function bundled(contents: string, platform: Platform): Promise<{ name: string; bytes: number }[]> {
  const { metafile } = await build({
    stdin: { contents, resolveDir: inject("installed") },
    platform,
    bundle: true,
    format: "esm",
    metafile: true,
    write: false,
  });
  return Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .filter(([path]) => path.includes("seenguard/dist/"))
    .map(([path, { bytesInOutput }]) => ({ name: basename(path), bytes: bytesInOutput }))
    .sort((a, b) => a.name.localeCompare(b.name));
}

test("publint, which knows how bundlers and Node read a manifest, has nothing to say", async () => {
  const manifest = await manifestOf(root);
  const { messages } = await publint({ pkgDir: join(inject("installed"), "node_modules/seenguard"), strict: true });
  expect(messages.map((message) => formatMessage(message, manifest))).toEqual([]);
});

async function manifestOf(directory: string): Promise<{ scripts: Record<string, string> }> {
  return JSON.parse(await readFile(join(directory, "package.json"), "utf8")) as { scripts: Record<string, string> };
}
