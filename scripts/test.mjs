/**
 * The tests: `npm test`. Sets the machine up first, runs all steps even when one fails, and ends with a table and
 * `N passed, N failed`.
 *
 *     npm test -- --all                   the slow steps, too
 *     npm test -- --list                  the steps, one a line
 *     npm test -- --only vitest,clippy    these alone, in the order of the list
 */
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { CommandFailed } from "./lib/run.mjs";
import { main, setUp } from "./setup.mjs";
import { steps } from "./test/steps.mjs";

/**
 * @typedef {object} Outcome
 * @property {string} name
 * @property {number} seconds
 * @property {string | undefined} failure
 */

/** @param {readonly string[]} args */
async function test(args) {
  const values = read(args);
  if (values.list) {
    for (const { name, what, slow } of steps) console.log(`${name.padEnd(20)}${what}${slow ? " (slow: --all)" : ""}`);
    return;
  }
  const chosen = choose(values);
  await setUp("test");
  /** @type {Outcome[]} */
  const outcomes = [];
  for (const step of chosen) outcomes.push(await runStep(step));
  summarise(outcomes);
}

/** @param {readonly string[]} args */
function read(args) {
  try {
    const options = /** @type {const} */ ({
      all: { type: "boolean" },
      list: { type: "boolean" },
      only: { type: "string" },
    });
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new CommandFailed(`${String(error)}\nusage: npm test -- [--all | --list | --only STEP,STEP]`);
  }
}

/** @param {{ all?: boolean, only?: string }} values */
function choose({ all, only }) {
  if (only === undefined) return steps.filter(({ slow }) => all === true || !slow);
  const names = only.split(",").map((name) => name.trim());
  const unknown = names.filter((name) => !steps.some((step) => step.name === name));
  if (unknown.length > 0) {
    throw new CommandFailed(
      `no such step: ${unknown.join(", ")}; there are ${steps.map(({ name }) => name).join(", ")}`,
    );
  }
  return steps.filter(({ name }) => names.includes(name));
}

/**
 * @param {import("./test/steps.mjs").Step} step
 * @returns {Promise<Outcome>}
 */
async function runStep({ name, what, run }) {
  console.log(`\n━━━ ${name}: ${what}`);
  const started = Date.now();
  /** @type {string | undefined} */
  let failure;
  try {
    await run();
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
    console.error(error instanceof CommandFailed ? failure : error);
  }
  const seconds = (Date.now() - started) / 1000;
  console.log(`━━━ ${name}: ${failure === undefined ? "passed" : "FAILED"} after ${seconds.toFixed(1)} s`);
  return { name, seconds, failure };
}

/** @param {readonly Outcome[]} outcomes */
function summarise(outcomes) {
  console.log("\n━━━ summary");
  for (const { name, seconds, failure } of outcomes) {
    const result = failure === undefined ? "passed" : `FAILED  ${failure.split("\n", 1)[0] ?? ""}`;
    console.log(`${name.padEnd(20)}${seconds.toFixed(1).padStart(7)} s  ${result}`);
  }
  const failed = outcomes.filter(({ failure }) => failure !== undefined).length;
  console.log(`\n${String(outcomes.length - failed)} passed, ${String(failed)} failed`);
  if (failed > 0) process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(() => test(process.argv.slice(2)));
