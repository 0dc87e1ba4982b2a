/** Writes files atomically, and detects changes. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The files that this process has written, or found unchanged. @type {Set<string>} */
const written = new Set();

/**
 * Replaces a file atomically, and only if its content changes, so that watchers and tools that compare ages do not
 * react needlessly.
 * @param {string} path
 * @param {string | Uint8Array} content
 */
export function writeWhole(path, content) {
  written.add(path);
  const bytes = Buffer.from(content);
  if (bytes.equals(readIfThere(path) ?? Buffer.from([0])) && bytes.length > 0) return;
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${String(process.pid)}.new`;
  writeFileSync(unfinished, bytes);
  renameSync(unfinished, path);
}

/**
 * Removes the files of a directory that `writeWhole` has not written: those of an earlier build.
 * @param {string} directory
 */
export function removeOutdated(directory) {
  for (const path of filesBelow(directory)) if (!written.has(path)) rmSync(path);
}

/** @param {string} path */
export function readIfThere(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/**
 * Returns one hash of files and of everything below directories, including names and missing files.
 * @param {readonly string[]} paths
 */
export function hashOf(paths) {
  const hash = createHash("sha256");
  for (const path of paths.flatMap(filesBelow)) {
    const content = readIfThere(path);
    hash.update(`${path}\0${String(content?.length ?? "absent")}\0`).update(content ?? "");
  }
  return hash.digest("hex");
}

/**
 * Returns the files below a directory, or a file itself.
 * @param {string} path
 * @returns {string[]}
 */
export function filesBelow(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(join(path, name)));
}
