/**
 * Runs mutation tests, and reports the changes that no test detects: cargo-mutants for src/, Stryker for js/. It
 * installs both once.
 *
 *     npm run mutants                                          the lines that differ from main
 *     npm run mutants -- --all                                 all code: takes days
 *     npm run mutants -- src/bloom.rs js/feed/verdicts.ts      these files
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { measuredRelease, nodeOf } from "./lib/node-releases.mjs";
import { withoutRootSettings } from "./lib/npm.mjs";
import { inProject } from "./lib/paths.mjs";
import { CommandFailed, output, run } from "./lib/run.mjs";
import { cargoMutants, pathWith } from "./lib/rust.mjs";
import { build } from "./build.mjs";
import { cargoTool, main } from "./setup.mjs";

/** The users of the simulation for each mutant. */
const USERS = "100";
const STRYKER = "10.1.1";
/** Below the project, so that Stryker uses the project's Vitest. */
const strykerDirectory = inProject("target", "stryker", STRYKER);

/** @param {readonly string[]} where arguments that select the code */
async function tryRust(where) {
  await cargoTool(cargoMutants);
  const env = { ...(await pathWith([cargoMutants])), SEENGUARD_USERS: USERS };
  await run("cargo", ["mutants", "--output", inProject("target"), ...where], { env });
}

/** @param {readonly string[]} where files, with or without line ranges; none means all */
async function tryJavaScript(where) {
  const node = await nodeOf(measuredRelease);
  if (node === undefined)
    throw new CommandFailed(`Stryker needs Node 22 or newer: run it with Node ${measuredRelease}`);
  await installStryker();
  await build({ sizes: false });
  const stryker = join(strykerDirectory, "node_modules", "@stryker-mutator", "core", "bin", "stryker.js");
  const mutate = where.length > 0 ? ["--mutate", where.join()] : [];
  const env = { PATH: [dirname(node), process.env.PATH ?? ""].join(delimiter) };
  await run(node, [stryker, "run", inProject("scripts", "mutants", "stryker.config.mjs"), ...mutate], { env });
}

async function installStryker() {
  if (existsSync(join(strykerDirectory, "node_modules"))) return;
  console.log(`set-up: installing Stryker ${STRYKER} into ${strykerDirectory} (once)`);
  mkdirSync(strykerDirectory, { recursive: true });
  writeFileSync(join(strykerDirectory, "package.json"), '{ "private": true }\n');
  // Its peer dependency Vitest is the project's.
  const args = ["install", "--no-package-lock", "--legacy-peer-deps", "--no-audit", "--no-fund"];
  const packages = ["core", "vitest-runner"].map((name) => `@stryker-mutator/${name}@${STRYKER}`);
  await run("npm", [...args, ...packages], { cwd: strykerDirectory, env: withoutRootSettings() });
}

/** Returns the difference to main, committed or not, without context lines. */
async function changes() {
  const base = await output("git", ["merge-base", "main", "HEAD"]);
  const diff = base && (await output("git", ["diff", "--unified=0", base, "--", "src", "js"]));
  if (diff === undefined) throw new CommandFailed("git diff main failed");
  return diff;
}

/** Returns the lines that a diff adds to sources of js/, in Stryker's syntax. @param {string} diff */
function changedLines(diff) {
  return diff.split(/^diff --git /m).flatMap((part) => {
    const file = /^\+\+\+ b\/(js\/\S+(?<!\.d)\.ts)$/m.exec(part)?.[1];
    const hunks = [...part.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)].map(([, start, count]) => [
      Number(start),
      Number(count ?? 1),
    ]);
    return hunks.flatMap(([start = 0, count = 0]) =>
      file && count > 0 ? `${file}:${String(start)}-${String(start + count - 1)}` : [],
    );
  });
}

/**
 * Returns the chosen tools.
 * @returns {Promise<(() => Promise<void>)[]>}
 */
async function chosen() {
  const { values, positionals } = parseArgs({ options: { all: { type: "boolean" } }, allowPositionals: true });
  if (values.all) return [() => tryRust([]), () => tryJavaScript([])];
  if (positionals.length > 0) {
    const rust = positionals.filter((file) => file.endsWith(".rs")).flatMap((file) => ["--file", file]);
    const javaScript = positionals.filter((file) => file.endsWith(".ts"));
    return [
      ...(rust.length > 0 ? [() => tryRust(rust)] : []),
      ...(javaScript.length > 0 ? [() => tryJavaScript(javaScript)] : []),
    ];
  }
  const diff = await changes();
  const file = inProject("target", "mutants.diff");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${diff}\n`);
  const lines = changedLines(diff);
  return [
    ...(/^\+\+\+ b\/src\/.*\.rs$/m.test(diff) ? [() => tryRust(["--in-diff", file])] : []),
    ...(lines.length > 0 ? [() => tryJavaScript(lines)] : []),
  ];
}

await main(async () => {
  const parts = await chosen();
  if (parts.length === 0) throw new CommandFailed("there is nothing to test in src/ or js/");
  /** @type {PromiseSettledResult<void>[]} */
  const results = [];
  // Run the second tool even if a mutant of the first one survives.
  for (const part of parts) results.push(...(await Promise.allSettled([part()])));
  for (const result of results) if (result.status === "rejected") throw result.reason;
});
