/**
 * Whether the hot path has become slower, measured by what it does and not by the clock: callgrind counts the instructions
 * of lab/benches/instructions.rs, and lab/benches/instructions.json says how many there were.
 *
 *     node scripts/test/instructions.mjs             counts and compares
 *     node scripts/test/instructions.mjs --update    counts and writes the new numbers
 *
 * They depend on the compiler. With another one than the numbers were written down with, more growth is allowed, and
 * that is said.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { compare, readBudget, writeBudget } from "../lib/budget.mjs";
import { inProject } from "../lib/paths.mjs";
import { programs } from "../lib/programs.mjs";
import { CommandFailed, output, run } from "../lib/run.mjs";
import { rustVersion } from "../lib/rust.mjs";
import { main } from "../setup.mjs";

const path = inProject("lab", "benches", "instructions.json");
const update = "node scripts/test/instructions.mjs --update";
const GROWTH = 0.05;
const GROWTH_WITH_OTHER_COMPILER = 0.25;

/** The counted code, and the function around it. */
const counted = {
  "filter of 2,000 ids": "counted_filter_of_2000_ids",
  "apply of 5 shards": "counted_apply_of_5_shards",
};

/** Builds the program and returns its path. */
async function buildProgram() {
  const benches = ["--package", "seenguard-benches", "--no-default-features"];
  const build = ["bench", ...benches, "--bench", "instructions", "--no-run"];
  await run("cargo", build);
  const messages = (await output("cargo", [...build, "--message-format", "json"])) ?? "";
  for (const line of messages.split("\n").filter((text) => text.startsWith("{"))) {
    const { executable, target } = /** @type {{ executable?: string, target?: { name: string } }} */ (JSON.parse(line));
    if (typeof executable === "string" && target?.name === "instructions") return executable;
  }
  throw new CommandFailed("cargo did not say where lab/benches/instructions.rs was built");
}

/**
 * @param {string} program
 * @param {string} name a function
 */
async function instructionsIn(program, name) {
  const out = inProject("target", `callgrind.${name}`);
  const options = ["--quiet", "--tool=callgrind", `--toggle-collect=*${name}*`, `--callgrind-out-file=${out}`];
  await run(programs.valgrind.find() ?? "valgrind", [...options, program]);
  const count = Number(/^totals: (\d+)$/m.exec(readFileSync(out, "utf8"))?.[1]);
  if (!(count > 0)) throw new CommandFailed(`callgrind counted nothing in ${name}`);
  return count;
}

async function count() {
  const program = await buildProgram();
  /** @type {Record<string, number>} */
  const counts = {};
  for (const [what, name] of Object.entries(counted)) counts[what] = await instructionsIn(program, name);
  return counts;
}

export async function checkInstructions() {
  const { tool, numbers } = readBudget(path);
  const compiler = await rustVersion();
  const growth = compiler === tool ? GROWTH : GROWTH_WITH_OTHER_COMPILER;
  if (compiler !== tool) {
    console.log(`counted with ${tool}, this is ${compiler}: up to ${String(growth * 100)}% more is allowed.`);
    console.log(`To hold this compiler to ${String(GROWTH * 100)}%: ${update}`);
  }
  compare({ before: numbers, now: await count(), growth, unit: "instructions", update });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(async () => {
    if (process.argv.includes("--update")) writeBudget(path, { tool: await rustVersion(), numbers: await count() });
    else await checkInstructions();
  });
}
