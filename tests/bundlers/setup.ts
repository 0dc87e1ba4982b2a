/**
 * Installs the tools of package.json into the user's cache, once for each lock file; below them, for each run, the
 * packed package and each app. An app finds the tools as the packages of a workspace do: further up.
 */
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { TestProject } from "vitest/node";
import { lockDigest, npmCi, runDirectory } from "../../scripts/lib/npm.mjs";
import { toolDirectory } from "../../scripts/lib/paths.mjs";
import { installPackage } from "../packed/pack.ts";
import { writeApps } from "./app-files.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the tools are installed. */
    tools: string;
    /** Whether the table in docs/platforms.md is to be written: `--update`. */
    update: boolean;
  }
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default async function setup({ config, provide }: TestProject): Promise<() => Promise<void>> {
  const tools = await installTools();
  const directory = await runDirectory(tools);
  console.log("packing the package and copying the apps");
  await installPackage(directory);
  for (const name of ["scenario.js", "server.js"]) await cp(here(`../packed/apps/${name}`), join(directory, name));
  for (const name of ["feed.js", "shared.js"]) await cp(here(`apps/${name}`), join(directory, name));
  await writeApps(directory);
  await shareWithApps(directory);
  provide("tools", tools);
  provide("installed", directory);
  provide("update", config.snapshotOptions.updateSnapshot === "all");
  return () => rm(directory, { recursive: true, force: true });
}

/** Installs into another directory when the lock file changes, so that a run in progress keeps its files. */
async function installTools(): Promise<string> {
  const tools = join(toolDirectory, `platforms-${lockDigest(here(".")).slice(0, 16)}`);
  for (const name of ["package.json", "package-lock.json", ".npmrc"]) await cp(here(name), join(tools, name));
  await npmCi(tools, "the tools of tests/bundlers (once; 1.9 GB)");
  return tools;
}

/** Writes what the apps share as modules of each kind, since some tools read no JSON, or no ES modules. */
async function shareWithApps(directory: string): Promise<void> {
  const read = (name: string) => readFile(join(directory, name), "utf8");
  const [scenario, guavaScenario] = await Promise.all([read("scenario.json"), read("guava-scenario.json")]);
  const data = `export const scenario = ${scenario};\nexport const guavaScenario = ${guavaScenario};\n`;
  await writeFile(join(directory, "data.js"), data);
  const shared = { entryPoints: [join(directory, "shared.js")], bundle: true };
  await build({ ...shared, format: "cjs", outfile: join(directory, "shared.cjs") });
  await build({ ...shared, format: "iife", globalName: "Shared", outfile: join(directory, "shared.iife.js") });
}
