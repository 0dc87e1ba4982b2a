/**
 * Tries one mutant of js/ by any tests, those in browsers among them: `node tests/mutation/try.mjs ID COMMAND…`. ID is
 * that of Stryker's report, target/mutation/js.json. Builds dist/ with the mutant, runs the command, and says whether
 * it failed; then the source and dist/ are as before.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { bundle } from "../../scripts/build/bundle.mjs";
import { inProject, root } from "../../scripts/lib/paths.mjs";
import { CommandFailed } from "../../scripts/lib/run.mjs";
import { main } from "../../scripts/setup.mjs";

/** @typedef {{ line: number, column: number }} Position both from 1 */
/** @typedef {{ id: string, replacement: string, location: { start: Position, end: Position } }} Mutant */
/** @typedef {{ files: Record<string, { source: string, mutants: Mutant[] }> }} Report */

/** @param {string} source @param {Position} position */
function offsetOf(source, { line, column }) {
  const before = source.split("\n").slice(0, line - 1);
  return before.reduce((sum, { length }) => sum + length + 1, 0) + column - 1;
}

/** @param {string} source @param {Mutant} mutant */
function mutate(source, { replacement, location: { start, end } }) {
  return source.slice(0, offsetOf(source, start)) + replacement + source.slice(offsetOf(source, end));
}

await main(async () => {
  const [id, command, ...args] = process.argv.slice(2);
  const report = /** @type {Report} */ (JSON.parse(readFileSync(inProject("target", "mutation", "js.json"), "utf8")));
  const found = Object.entries(report.files).flatMap(([file, { source, mutants }]) =>
    mutants.filter((mutant) => mutant.id === id).map((mutant) => ({ file: inProject(file), source, mutant })),
  )[0];
  if (!found || !command) throw new CommandFailed("usage: node tests/mutation/try.mjs ID COMMAND [ARGUMENT …]");
  const { file, source, mutant } = found;
  if (readFileSync(file, "utf8") !== source) throw new CommandFailed(`${file} has changed since the report`);
  try {
    writeFileSync(file, mutate(source, mutant));
    await bundle();
    const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
    console.log(status === 0 ? `\n${id} survived` : `\n${id} was killed`);
  } finally {
    writeFileSync(file, source);
    await bundle();
  }
});
