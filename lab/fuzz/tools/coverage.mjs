/** Which lines of src/ the corpus of each target reaches, and which that of all. */
import { join } from "node:path";
import { CommandFailed, output, run } from "../../../scripts/lib/run.mjs";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { writeTables } from "../../../scripts/lib/tables.mjs";
import { corpusOf } from "./corpus.mjs";
import { coverageBinary, llvmTools, runCargoFuzz } from "./toolchain.mjs";

/** Where the share of lines stands in the last line of a report without regions. */
const LINES_SHARE = 6;

/** What runs in a browser or at build time alone, which no target can reach. */
const NOT_REACHED = "/(web|tests|fuzz|registry|rustc)/";

/** @param {readonly string[]} targets whose corpus is unpacked */
export async function coverage(targets) {
  const profiles = targets.map((target) => inProject("lab", "fuzz", "coverage", target, "coverage.profdata"));
  for (const target of targets) await runCargoFuzz("coverage", "--sanitizer", "none", target, corpusOf(target));
  const tools = await llvmTools();
  /** @type {string[]} */
  const rows = [];
  for (const [index, target] of targets.entries()) {
    const profile = profiles[index] ?? "";
    rows.push(`| \`${target}\` | ${(await report(tools, profile, [await coverageBinary(target)])).share} |`);
  }
  const merged = inProject("lab", "fuzz", "coverage", "all.profdata");
  await run(join(tools, "llvm-profdata"), ["merge", "-sparse", ...profiles, "-o", merged]);
  const all = await report(tools, merged, await Promise.all(targets.map(coverageBinary)));
  console.log(`${all.text}\n`);
  const table = ["| target | lines of src/ |", "| --- | --- |", ...rows, `| all | ${all.share} |`].join("\n");
  console.log(table);
  await writeTables({ "fuzz-coverage": table }, ["lab/fuzz/RECORD.md"]);
}

/**
 * @param {string} tools
 * @param {string} profile
 * @param {readonly string[]} binaries
 */
async function report(tools, profile, binaries) {
  const objects = binaries.slice(1).flatMap((binary) => ["-object", binary]);
  const options = [`-instr-profile=${profile}`, `-ignore-filename-regex=${NOT_REACHED}`, "-show-region-summary=false"];
  const text = await output(join(tools, "llvm-cov"), ["report", ...options, binaries[0] ?? "", ...objects]);
  const total = text
    ?.split("\n")
    .find((line) => line.startsWith("TOTAL"))
    ?.trim()
    .split(/\s+/);
  if (text === undefined || total === undefined) throw new CommandFailed("llvm-cov made no report");
  return { text, share: total[LINES_SHARE] };
}
