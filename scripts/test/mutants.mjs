/**
 * Breaks the core and the storage protocol on purpose, one rule at a time, and runs the tests of the guard's state:
 * each of these mutants must be caught by one of them. Not a step of `npm test`: it takes an hour or more.
 *
 *     node scripts/test/mutants.mjs                all of them
 *     node scripts/test/mutants.mjs counter        those whose name contains this
 *
 * Prints a table of who caught what, and fails if one survives or its text is not found any more.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MUTANTS } from "./mutant-list.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const COPIED = ["Cargo.toml", "Cargo.lock", "README.md", "src", "tests", "examples", "benches", "scripts/tools"];
/** Users of the simulation: what these do not meet, a longer run might. */
const USERS = process.env.SEENGUARD_USERS ?? "600";
/** Tests of one file each, quick ones first. The last one is the simulation. */
const TESTS = ["exchange", "chain_exceptions", "impressions", "segments", "delivery", "guard", "simulation"];

const only = process.argv[2] ?? "";
const copy = mkdtempSync(join(tmpdir(), "seenguard-mutants-"));
for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
/** @type {[name: string, result: string][]} */
const results = [];
const untouched = TESTS.map(run).find((failed) => failed !== undefined);
if (untouched !== undefined) throw new Error(`without a mutant: ${untouched}`);
for (const [name, file, from, to] of MUTANTS.filter(([name]) => name.includes(only))) {
  const result = caughtBy(file, from, to);
  results.push([name, result]);
  console.log(`${name}: ${result}`);
}
rmSync(copy, { recursive: true });
console.log(
  ["", "| mutant | caught by |", "| --- | --- |", ...results.map((row) => `| ${row.join(" | ")} |`)].join("\n"),
);
process.exitCode = results.some(([, result]) => !result.startsWith("`")) ? 1 : 0;

/**
 * The first test that fails with this change, in backquotes; or why there is none.
 *
 * @param {string} file
 * @param {string} from
 * @param {string} to
 */
function caughtBy(file, from, to) {
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  if (text.split(from).length !== 2) return "the text to change is not there once";
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
  try {
    for (const test of TESTS) {
      const failed = run(test);
      if (failed !== undefined) return failed;
    }
    return "survives";
  } finally {
    writeFileSync(path, text);
  }
}

/**
 * Which test of a file fails, if one does.
 *
 * @param {string} test
 */
function run(test) {
  const { status, stdout, stderr } = spawnSync("cargo", ["test", "--test", test], {
    cwd: copy,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, SEENGUARD_USERS: USERS, CARGO_PROFILE_TEST_DEBUG: "0", RUSTFLAGS: "-A warnings" },
  });
  if (status === 0) return undefined;
  if (!stdout.includes("test result")) return `does not run: ${/^error.*$/m.exec(stderr)?.[0] ?? stderr}`;
  const name = /^test (\S+) \.\.\. FAILED/m.exec(stdout)?.[1] ?? "?";
  const reason = test === "simulation" ? /\) fails: (.*)/.exec(stdout)?.[1]?.slice(0, 60) : undefined;
  return `\`${test}\`: ${name}${reason === undefined ? "" : ` (${reason} …)`}`;
}
