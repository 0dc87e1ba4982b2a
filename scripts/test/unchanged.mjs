/**
 * Whether anything that a step reads has changed since it last passed: its files, the versions of Node, Rust and the
 * programs, and the variables that tests take. And how long it has used a processor here.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { hashOf, readIfThere, writeWhole } from "../lib/files.mjs";
import { inProject, root } from "../lib/paths.mjs";
import { rustVersion } from "../lib/rust.mjs";

/** The inputs of every step: its runner, and the set-up of the machine. */
const everyStep =
  /^(scripts\/(lib|test)\/|scripts\/(setup|test)\.mjs|package(-lock)?\.json|Cargo\.(toml|lock)|\.cargo\/)/;

/** @param {string} step */
const stampOf = (step) => inProject("target", "steps", `${step}.json`);

/**
 * What a step reads now.
 * @param {import("./steps.mjs").Step} step
 * @returns {Promise<{ digest: string, files: number }>}
 */
export async function inputsOf({ reads = /./, programs = [] }) {
  const paths = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
    .toString()
    .split("\n")
    .filter((path) => path !== "" && (reads.test(path) || everyStep.test(path)));
  const hash = createHash("sha256").update(hashOf(paths.map((path) => inProject(path))));
  hash.update(JSON.stringify([process.version, await rustVersion(), identities(programs), variables()]));
  return { digest: hash.digest("hex"), files: paths.length };
}

/**
 * Programs with their sizes and ages, which tell one version from another.
 * @param {readonly import("../lib/programs.mjs").Program[]} programs
 */
function identities(programs) {
  return programs.map(({ find }) => {
    const path = find();
    const { size, mtimeMs } = (path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })) ?? {};
    return [path, size, mtimeMs];
  });
}

const variables = () =>
  Object.entries(process.env)
    .filter(([name]) => /^(SEENGUARD_|RUSTFLAGS$|CARGO_)/.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));

/**
 * Whether the step has passed with these inputs.
 * @param {string} step
 * @param {string} digest
 */
export const hasPassedWith = (step, digest) => stampIn(step).digest === digest;

/**
 * The most that the step has used a processor when it passed here, in seconds, if it has.
 * @param {string} step
 */
export const mostSeconds = (step) => stampIn(step).seconds;

/**
 * @param {string} step
 * @param {string} digest
 * @param {number} seconds of a processor
 */
export const notePassed = (step, digest, seconds) => {
  writeWhole(stampOf(step), JSON.stringify({ digest, seconds: Math.max(seconds, mostSeconds(step) ?? 0) }));
};

/** @param {string} step @returns {{ digest?: string, seconds?: number }} */
function stampIn(step) {
  try {
    /** @type {{ digest?: string, seconds?: number }} */
    const stamp = JSON.parse(readIfThere(stampOf(step))?.toString() ?? "{}");
    return stamp;
  } catch {
    return {};
  }
}
