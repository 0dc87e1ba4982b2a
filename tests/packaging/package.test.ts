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

const root = fileURLToPath(new URL("../..", import.meta.url));

test("the package holds what users need and nothing else", () => {
  expect(inject("packedFiles")).toEqual(
    [
      ...["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"],
      ...["index.cjs", "index.d.cts", "index.d.ts", "index.js", "seenguard.iife.js", "seenguard.wasm"].map(inDist),
      ...["chain.cjs", "chain.js", "formats.cjs", "formats.js", "formats.wasm", "inspect.js", "inspect.wasm"].map(
        inDist,
      ),
      ...["slim.cjs", "slim.d.cts", "slim.d.ts", "slim.js"].map(inDist),
    ].sort(),
  );
});

function inDist(name: string): string {
  return `dist/${name}`;
}

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

test("its scripts have no source map and name no place on the machine that built them", async () => {
  const dist = join(inject("installed"), "node_modules/seenguard/dist");
  const scripts = (await readdir(dist)).filter((name) => /\.c?js$/.test(name));
  expect(scripts).toHaveLength(10);
  for (const name of scripts) {
    const text = await readFile(join(dist, name), "utf8");
    expect(text).not.toContain("sourceMappingURL");
    expect(text).not.toContain(root);
  }
});

test.each([
  { platform: "browser", entry: "seenguard", gets: ["chain", "index"] },
  { platform: "neutral", entry: "seenguard", gets: ["chain", "index"] },
  { platform: "browser", entry: "seenguard/slim", gets: ["chain", "slim"] },
  { platform: "node", entry: "seenguard", gets: ["formats"] },
  { platform: "browser", entry: "seenguard/formats", gets: ["formats"] },
] as const)("a bundler for $platform finds $gets in dist as $entry", async ({ platform, entry, gets }) => {
  for (const [contents, ending] of [
    [`export * from "${entry}";`, ".js"],
    [`module.exports = require("${entry}");`, ".cjs"],
  ] as const) {
    expect((await bundled(contents, platform)).map(({ name }) => name)).toEqual(gets.map((name) => name + ending));
  }
});

test("what makes shards stays out of the bundle of an app that makes none", async () => {
  const byName = async (contents: string) =>
    Object.fromEntries((await bundled(contents, "browser")).map(({ name, bytes }) => [name, bytes]));
  const guard = await byName('export { SeenGuard } from "seenguard";');
  expect(guard["chain.js"] ?? 0).toBe(0);
  expect(guard["index.js"]).toBeGreaterThan(0);
  expect((await byName('export { ShardChain } from "seenguard";'))["chain.js"]).toBeGreaterThan(0);
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
