/** Whether a change of the crates' API that breaks users' code is told. */
import { output, run, CommandFailed } from "../lib/run.mjs";
import { pathWith, semverChecks } from "../lib/rust.mjs";

/** The crates, with the features that have an API. */
const crates = [
  ["--package", "seenguard", "--all-features"],
  ["--package", "seenguard-server", "--only-explicit-features", "--features", "redis"],
];

/**
 * Nothing was published yet, so the API may change under its version, but not in silence: what breaks users since the
 * last commit that changed the CHANGELOG fails.
 */
export async function checkSemver() {
  const baseline = await output("git", ["log", "-1", "--format=%H", "--", "CHANGELOG.md"]);
  if (!baseline) throw new CommandFailed("git does not tell which commit changed CHANGELOG.md last");
  console.log(`compared with ${baseline}: commit what breaks users' code together with a line in CHANGELOG.md`);
  const env = await pathWith([semverChecks]);
  for (const crate of crates) await run("cargo", ["semver-checks", "--baseline-rev", baseline, ...crate], { env });
}
