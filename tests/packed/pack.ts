/**
 * Packs the package once, as it would be published, and installs the tarball where nothing of this repository is in
 * reach: a dependency that it does not declare is missing there, as it would be for a user. Each app has a directory
 * next to it.
 */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { assemblePackage } from "../../scripts/build/package.mjs";
import { withoutRootSettings } from "../../scripts/lib/npm.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the package is installed, with a copy of each app next to node_modules. */
    installed: string;
    tarball: string;
    packedFiles: string[];
  }
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const exec = promisify(execFile);

/** An app's page with this body. */
export const pageOf = (app: string, body: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>A feed: ${app}</title>
    <link rel="icon" href="data:," />
  </head>
  <body>${body}</body>
</html>
`;

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-packaging-"));
  const { tarball, files } = await installPackage(directory, await versionsOf("react", "react-dom"));
  await cp(join(root, "tests/packed/apps"), directory, { recursive: true });
  const page = pageOf("vite-slim", '<script type="module" src="./main.ts"></script>');
  await writeFile(join(directory, "vite-slim/index.html"), page);
  provide("installed", directory);
  provide("tarball", join(directory, tarball));
  provide("packedFiles", files);
  return () => rm(directory, { recursive: true, force: true });
}

/** Packs the package and installs the tarball as users would, next to other packages; and puts the scenarios there. */
export async function installPackage(
  directory: string,
  others: Record<string, string> = {},
): Promise<{ tarball: string; files: string[] }> {
  const packed = await pack(directory);
  const manifest = {
    name: "apps",
    private: true,
    type: "module",
    dependencies: { seenguard: `file:${packed.tarball}`, ...others },
  };
  await writeFile(join(directory, "package.json"), JSON.stringify(manifest));
  await npmInstall(directory);
  await writeFile(join(directory, "scenario.json"), JSON.stringify(await scenario("native")));
  await writeFile(join(directory, "guava-scenario.json"), JSON.stringify(await scenario("guava")));
  return packed;
}

/** Installs what the directory's package.json names, and `packages`. */
export async function npmInstall(directory: string, ...packages: string[]): Promise<void> {
  const options = ["--prefer-offline", "--no-audit", "--no-fund", "--no-package-lock"];
  const env = { ...process.env, ...withoutRootSettings() };
  await exec("npm", ["install", ...options, ...packages], { cwd: directory, env });
}

/** Packs the package into a directory, as it would be published. */
export async function pack(directory: string): Promise<{ tarball: string; files: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), "seenguard-package-"));
  assemblePackage(folder);
  const { stdout } = await exec("npm", ["pack", folder, "--json", "--pack-destination", directory], { cwd: root });
  await rm(folder, { recursive: true });
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  return { tarball: packed.filename, files: packed.files.map(({ path }) => path).sort() };
}

/** The versions in this repository's lock file, which are in npm's cache. */
async function versionsOf(...names: string[]): Promise<Record<string, string>> {
  const versions = names.map(async (name) => {
    const text = await readFile(join(root, "node_modules", name, "package.json"), "utf8");
    return [name, (JSON.parse(text) as { version: string }).version] as const;
  });
  return Object.fromEntries(await Promise.all(versions));
}

/** A shard of 1,000 ids by another implementation, a page of items, and its fresh items by the vector's results. */
async function scenario(format: "native" | "guava") {
  const read = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(join(root, "tests/vectors", name), "utf8"));
  const ids = (await read("ids.json")) as string[];
  const { cases } = (await read(`${format}.json`)) as {
    cases: { base64: string; inserted: number; answers: string }[];
  };
  const first = cases.find(({ inserted }) => inserted === 1000);
  if (first === undefined) throw new Error("the vectors have no case of 1,000 ids");
  const page = ids.slice(900, 1300);
  const fresh = page.filter((_, index) => first.answers[900 + index] === "0");
  const snapshot = { version: 1, shards: [first.base64], ...(format === "native" ? {} : { format }) };
  return { snapshot, page: page.map((id) => ({ id })), fresh };
}
