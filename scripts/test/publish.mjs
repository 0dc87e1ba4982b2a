/** Whether both registries would take the package as it is: nothing is uploaded. */
import { spawnSync } from "node:child_process";
import { packageDirectory } from "../build/package.mjs";
import { root } from "../lib/paths.mjs";
import { CommandFailed } from "../lib/run.mjs";

/** What a dry run says on any machine. */
const expected = [
  // cargo finds the programs of tests, benchmarks and examples, and the crate has none of them but one on purpose.
  /^warning: ignoring (test|benchmark|example) `.*` as `.*` is not included in the published package$/,
  /^warning: aborting upload due to dry run$/,
  /^npm warn publish This command requires you to be logged in/,
];

export function checkPublish() {
  dryRun("npm", ["publish", "--dry-run", packageDirectory], /^npm warn publish /);
  dryRun("cargo", ["publish", "--dry-run", "--locked", "--allow-dirty"], /^warning: /);
}

/**
 * Fails if the command does, or if it warns of anything.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RegExp} warning
 */
function dryRun(command, args, warning) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  console.log(`${stdout}${stderr}`);
  if (status !== 0) throw new CommandFailed(`${command} publish --dry-run failed${error ? `: ${error.message}` : ""}`);
  const warnings = stderr.split("\n").filter((line) => warning.test(line) && !expected.some((each) => each.test(line)));
  if (warnings.length > 0) throw new CommandFailed(warnings.join("\n"));
}
