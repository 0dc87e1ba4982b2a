/** Installs a directory's packages by its lock file. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { inProject } from "./paths.mjs";
import { run, withProgress } from "./run.mjs";

/**
 * For the environment of an npm that works in another folder: without what npm hands on of the root's .npmrc to the
 * scripts that it runs. It would go before the folder's own; and some tools of the tests need a newer Node than the one
 * that installs them.
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
 * Whether what is there was made from the lock file.
 * @param {string} directory
 */
export const npmIsThere = (directory) =>
  existsSync(stampOf(directory)) && readFileSync(stampOf(directory), "utf8") === wantedIn(directory);

/**
 * `npm ci`, when what is there was not made from this lock file.
 * @param {string} directory
 * @param {string} what is installed
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
 * What tells a directory's lock file from others.
 * @param {string} directory
 */
export const lockDigest = (directory) =>
  createHash("sha256")
    .update(readFileSync(join(directory, "package-lock.json")))
    .digest("hex");

const RUN = "run-";
const DAY_MS = 86_400_000;

/**
 * A new directory below installed packages, where apps find them further up, as in a workspace. Directories that killed
 * runs have left are removed after a day.
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
