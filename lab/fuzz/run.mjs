/**
 * Runs each fuzz target with its corpus, compiled by the stable compiler without instrumentation: the step `fuzz`.
 * README.md describes how to fuzz.
 *
 *     node lab/fuzz/run.mjs [--only NAME,NAME]
 */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { fromEnvironment, inProject } from "../../scripts/lib/paths.mjs";
import { CommandFailed, run } from "../../scripts/lib/run.mjs";
import { main, setUpCompilers } from "../../scripts/setup.mjs";

const targets = ["snapshots", "rows", "writers"];

/** The memory limit of an input. The largest snapshot with its checks needs a third of it. */
const MOST_MEGABYTES = 1024;
/** The time limit of an input: minutes, since a busy machine may be a hundred times slower. */
const MOST_SECONDS_AN_INPUT = 120;

const exec = promisify(execFile);
const targetDirectory = fromEnvironment("CARGO_TARGET_DIR") ?? inProject("lab", "fuzz", "target");

/** Unpacks a target's corpus. @param {string} target */
async function corpusOf(target) {
  const directory = join(targetDirectory, "corpus", target);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  await run("tar", ["--extract", "--file", inProject("lab", "fuzz", "corpus", `${target}.tar.gz`), "-C", directory]);
  const inputs = readdirSync(directory).sort();
  if (inputs.length === 0) throw new CommandFailed(`the corpus of ${target} is empty`);
  return { directory, inputs };
}

async function runCorpora() {
  const { values } = parseArgs({ options: { only: { type: "string" } } });
  const chosen = values.only?.split(",") ?? targets;
  await setUpCompilers();
  const directory = join(targetDirectory, "plain");
  const manifest = inProject("lab", "fuzz", "Cargo.toml");
  const args = ["build", "--manifest-path", manifest, "--target-dir", directory];
  await run("cargo", args, { env: { RUSTFLAGS: "--cfg fuzzing" } });
  for (const target of chosen) {
    const corpus = await corpusOf(target);
    console.log(`${target}: ${corpus.inputs.length} inputs`);
    await runInputs(join(directory, "debug", target), corpus);
  }
}

/**
 * Runs each input once. libFuzzer prints a line for each; the last lines are printed if one fails.
 * @param {string} binary
 * @param {{ directory: string, inputs: readonly string[] }} corpus
 */
async function runInputs(binary, { directory, inputs }) {
  const limits = [`-rss_limit_mb=${MOST_MEGABYTES}`, `-timeout=${MOST_SECONDS_AN_INPUT}`];
  try {
    await exec(binary, [...limits, ...inputs], { cwd: directory, maxBuffer: 2 ** 26 });
  } catch (error) {
    const { stderr = "" } = /** @type {{ stderr?: string }} */ (error);
    console.error(stderr.split("\n").slice(-60).join("\n"));
    throw new CommandFailed(`${binary} failed: the last input printed above is the cause, in ${directory}`);
  }
}

await main(runCorpora);
