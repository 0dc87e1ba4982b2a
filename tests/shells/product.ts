/**
 * The app of examples/capacitor as its team has it: its packages as the lock file has them, the packed package next to
 * them, built by its own script, and put into projects for Android and iOS by Capacitor's command.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { lockDigest, npmCi, runDirectory } from "../../scripts/lib/npm.mjs";
import { inProject, toolDirectory } from "../../scripts/lib/paths.mjs";
import { freePort } from "../../scripts/lib/processes.mjs";
import { pack } from "../packed/pack.ts";

const exec = promisify(execFile);
const sources = inProject("examples", "capacitor");

export interface Product {
  readonly directory: string;
  /** node_modules of the app. */
  readonly modules: string;
  /** Where the app looks for its API. */
  readonly apiPort: number;
  remove(): Promise<void>;
}

/** The page as Capacitor has copied it, or as `vite build --mode aside` has built it. */
export const pageOf = ({ directory }: Product, which: "android" | "ios" | "aside"): string =>
  join(directory, { android: "android/app/src/main/assets/public", ios: "ios/App/App/public", aside: "aside" }[which]);

export async function makeProduct(): Promise<Product> {
  const packages = await installPackages();
  const directory = await runDirectory(packages);
  const isSource = (path: string) => !/[/\\](node_modules|dist|android|ios)$/.test(path);
  await cp(sources, directory, { recursive: true, filter: isSource });
  const { tarball } = await pack(directory);
  const installed = join(directory, "node_modules", "seenguard");
  await mkdir(installed, { recursive: true });
  await exec("tar", ["-xzf", join(directory, tarball), "-C", installed, "--strip-components=1"]);
  const apiPort = await freePort();
  const env = { ...process.env, VITE_API: `http://127.0.0.1:${String(apiPort)}` };
  // Its own types are checked first.
  await exec("npm", ["run", "build"], { cwd: directory, env });
  const vite = join(packages, "node_modules", "vite", "bin", "vite.js");
  await exec(process.execPath, [vite, "build", "--mode", "aside", "--outDir", "aside"], { cwd: directory, env });
  const remove = () => rm(directory, { recursive: true, force: true });
  for (const args of [["add", "android"], ["add", "ios"], ["sync"]]) await runCapacitor(directory, ...args);
  return { directory, modules: join(packages, "node_modules"), apiPort, remove };
}

/** Into another directory when the lock file changes, so that nothing is taken from under a run. */
async function installPackages(): Promise<string> {
  const packages = join(toolDirectory, `capacitor-${lockDigest(sources).slice(0, 16)}`);
  for (const name of ["package-lock.json", ".npmrc"]) await cp(join(sources, name), join(packages, name));
  // The package itself is not in the registry yet.
  const { dependencies, ...rest } = JSON.parse(await readFile(join(sources, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const { seenguard: _, ...others } = dependencies;
  await writeFile(join(packages, "package.json"), JSON.stringify({ ...rest, dependencies: others }));
  await npmCi(packages, "the packages of examples/capacitor (once; 200 MB)");
  return packages;
}

/**
 * Capacitor's command, as `npx cap` runs it, but that this refuses a Node older than 22, which nothing of what is tested
 * needs.
 */
async function runCapacitor(directory: string, ...args: string[]): Promise<void> {
  const script = 'require("@capacitor/cli").run()';
  const env = { ...process.env, CI: "1" };
  await exec(process.execPath, ["-e", script, "cap", ...args], { cwd: directory, env });
}
