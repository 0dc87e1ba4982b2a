/** One process of libFuzzer, and what it says of itself in the end. */
import { spawn } from "node:child_process";
import { CommandFailed } from "../../../scripts/lib/run.mjs";

/** What libFuzzer says of itself while all is well: none of it is worth a line here. */
const progress = /^(#\d+|\s*NEW_FUNC|Executed )/;

/**
 * @param {string} binary
 * @param {readonly string[]} args
 * @returns {Promise<{ inputs: number, megabytes: number }>}
 */
export async function fuzzProcess(binary, args) {
  const said = await libFuzzer(binary, args);
  return { inputs: figure(said, "number_of_executed_units"), megabytes: figure(said, "peak_rss_mb") };
}

/**
 * Resolves to all that it has said.
 * @param {string} binary
 * @param {readonly string[]} args
 * @param {string} [cwd]
 * @returns {Promise<string>}
 */
export function libFuzzer(binary, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { cwd, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ chunk) => {
      said += chunk;
    });
    child.once("error", (error) => {
      reject(new CommandFailed(`${binary} could not be started: ${error.message}`));
    });
    child.once("close", (code) => {
      if (code === 0) {
        resolve(said);
        return;
      }
      const lines = said.split("\n").filter((line) => !progress.test(line));
      console.error(lines.slice(-60).join("\n"));
      reject(new CommandFailed(`${binary} failed: its input is in lab/fuzz/artifacts, or the last that was run`));
    });
  });
}

/**
 * @param {string} said
 * @param {string} name
 */
function figure(said, name) {
  const found = new RegExp(`^stat::${name}:\\s*(\\d+)$`, "m").exec(said)?.[1];
  if (found === undefined) throw new CommandFailed(`libFuzzer does not tell ${name}`);
  return Number(found);
}
