/** Installs a directory's packages by its lock file. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { inProject } from "./paths.mjs";
import { run, withProgress } from "./run.mjs";

/**
 * Environment variables to unset for an npm that works in another folder: npm passes the settings of the root's .npmrc
 * to its scripts, where they would override the folder's own; and some tools of the tests need a newer Node than the
 * one that installs them.
 * @returns {Record<string, undefined>}
 */
export function withoutRootSettings() {
  const settings = readFileSync(inProject(".npmrc"), "utf8").matchAll(/^[\w-]+(?=\s*=)/gm);
  return Object.fromEntries(Array.from(settings, ([name]) => [`npm_config_${name.replaceAll("-", "_")}`, undefined]));
}

/** @param {string} directory */
const stampOf = (directory) => join(directory, "node_modules", ".seenguard-lock");

/** @param {string} directory */
const wantedIn = (directory) => `${lockDigest(directory)} ${process.platform} ${process.arch}`;

/**
 * Whether the installed packages match the lock file.
 * @param {string} directory
 */
export const npmIsThere = (directory) =>
  existsSync(stampOf(directory)) && readFileSync(stampOf(directory), "utf8") === wantedIn(directory);

/**
 * Runs `npm ci`, if the installed packages do not match the lock file.
 * @param {string} directory
 * @param {string} what the name of the packages for the log
 */
export async function npmCi(directory, what) {
  if (npmIsThere(directory)) return;
  console.log(`set-up: installing ${what} by npm ci`);
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const options = { cwd: directory, env: withoutRootSettings() };
  await withProgress("npm ci", () => run(npm, ["ci", "--no-audit", "--no-fund"], options));
  writeFileSync(stampOf(directory), wantedIn(directory));
}

/**
 * A hash of a directory's lock file.
 * @param {string} directory
 */
export const lockDigest = (directory) =>
  createHash("sha256")
    .update(readFileSync(join(directory, "package-lock.json")))
    .digest("hex");

const RUN = "run-";
const DAY_MS = 86_400_000;

/**
 * Makes a new directory below installed packages, so that apps in it resolve them, as in a workspace. Directories of
 * killed runs are removed after a day.
 * @param {string} packages
 */
export async function runDirectory(packages) {
  for (const name of await readdir(packages)) {
    const path = join(packages, name);
    if (!name.startsWith(RUN) || Date.now() - (await stat(path)).mtimeMs < DAY_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
  return mkdtemp(join(packages, RUN));
}
