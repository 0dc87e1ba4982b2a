/** One process of libFuzzer, and what it says of itself in the end. */
import { spawn } from "node:child_process";
import { CommandFailed } from "../../scripts/lib/run.mjs";

/** What libFuzzer says of itself while all is well: none of it is worth a line here. */
const progress = /^(#\d+|\s*NEW_FUNC)/;

/**
 * @param {string} binary
 * @param {readonly string[]} args
 * @returns {Promise<{ inputs: number, megabytes: number }>}
 */
export function fuzzProcess(binary, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (/** @type {string} */ chunk) => {
      said += chunk;
    });
    child.once("error", (error) => {
      reject(new CommandFailed(`${binary} could not be started: ${error.message}`));
    });
    child.once("close", (code) => {
      if (code === 0) {
        resolve({ inputs: figure(said, "number_of_executed_units"), megabytes: figure(said, "peak_rss_mb") });
        return;
      }
      const lines = said.split("\n").filter((line) => !progress.test(line));
      console.error(lines.slice(-60).join("\n"));
      reject(new CommandFailed(`${binary} failed: its input is in fuzz/artifacts`));
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
