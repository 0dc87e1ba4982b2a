/**
 * Runs the tests: `npm test`. Steps run concurrently, all of them even when one fails, and next to the set-up of tools
 * that others need. Ends with a table and `N passed, N failed, N skipped`. A step is skipped if none of its inputs has
 * changed since it last passed here. With `--all` a few failed steps run again, alone; the table marks those that
 * passed only then.
 *
 *     npm test -- --all                   the slow steps, too, except those that run only by name
 *     npm test -- --fresh                 none is skipped
 *     npm test -- --list                  lists the steps
 *     npm test -- --only node,clippy      only these, none skipped, in the order of the list
 *     npm test -- --rule storage          the tests of one folder of tests/, in all steps
 */
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { CommandFailed } from "./lib/run.mjs";
import { main, setUpCompilers, setUpLinters } from "./setup.mjs";
import { measureIdle } from "./lib/processes.mjs";
import { withSetUp } from "./test/set-up.mjs";
import { runSideBySide, runStep } from "./test/side-by-side.mjs";
import { stepsOfRule } from "./test/rule.mjs";
import { steps } from "./test/steps.mjs";
import { hasPassedWith, inputsOf, notePassed } from "./test/unchanged.mjs";

/** @typedef {import("./test/side-by-side.mjs").Outcome} Outcome */
/** @typedef {import("./test/steps.mjs").Step} Step */

/** @param {readonly string[]} args */
async function test(args) {
  const values = read(args);
  if (values.list) {
    for (const { name, what, slow, byName } of steps)
      console.log(`${name.padEnd(20)}${what}${slow ? " (slow: --all)" : ""}${byName ? " (by name: --only)" : ""}`);
    return;
  }
  const started = Date.now();
  // Steps run in process groups of their own, which a terminal's Ctrl-C does not reach: they end when this process
  // exits.
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.once(signal, () => process.exit(1));
  await setUpCompilers();
  await setUpLinters();
  const wanted = choose(values);
  const chosen = await withSetUp(wanted);
  const mayBeSkipped = !values.fresh && values.only === undefined && values.rule === undefined;
  const options = { mayBeSkipped, atOnce: chosen.length === 1, chosen: wanted.map(({ name }) => name) };
  const idle = measureIdle();
  const outcomes = await runSideBySide(chosen, (step) => runUnlessUnchanged(step, options));
  const share = idle();
  const final = values.all ? await runAlone(chosen, outcomes) : outcomes;
  summarise(final, (Date.now() - started) / 1000, share);
}

/** The most failed steps to run again: more failures are not caused by the load of the others. */
const MOST_AGAIN = 4;

/**
 * Runs failed steps again, one at a time: on a busy machine browsers and processes may exceed a test's timeout.
 * @param {readonly Step[]} chosen
 * @param {readonly Outcome[]} outcomes
 * @returns {Promise<Outcome[]>}
 */
async function runAlone(chosen, outcomes) {
  const failed = outcomes.filter(({ result, said }) => result === "failed" && said !== undefined);
  const final = [...outcomes];
  if (failed.length > MOST_AGAIN) return final;
  for (const before of failed) {
    const step = chosen.find(({ name }) => name === before.name);
    if (step === undefined) continue;
    const again = await runStep(step, { atOnce: true, chosen: chosen.map(({ name }) => name) });
    const reason = again.result === "passed" ? "alone; FAILED next to others" : (again.reason ?? "");
    const seconds = before.seconds + again.seconds;
    final[outcomes.indexOf(before)] = { ...again, seconds, reason, said: again.said ?? before.said ?? "" };
  }
  return final;
}

/** @param {readonly string[]} args */
function read(args) {
  try {
    const options = /** @type {const} */ ({
      all: { type: "boolean" },
      fresh: { type: "boolean" },
      list: { type: "boolean" },
      only: { type: "string" },
      rule: { type: "string" },
    });
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new CommandFailed(
      `${String(error)}\nusage: npm test -- [--all] [--fresh] | --list | --only STEP,STEP | --rule RULE`,
    );
  }
}

/** @param {{ all?: boolean, only?: string, rule?: string }} values */
function choose({ all, only, rule }) {
  if (rule !== undefined) return stepsOfRule(rule);
  if (only === undefined) return steps.filter(({ slow, byName }) => !byName && (all === true || !slow));
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
 * @param {Step} step
 * @param {{ mayBeSkipped: boolean, atOnce: boolean, chosen: readonly string[] }} options
 * @returns {Promise<Outcome>}
 */
async function runUnlessUnchanged(step, { mayBeSkipped, atOnce, chosen }) {
  const { name } = step;
  const { digest, files } = await inputsOf(step);
  if (mayBeSkipped && !step.makesFiles && hasPassedWith(name, digest)) {
    const reason = `its ${String(files)} files, Node, Rust and the programs are those that it last passed with`;
    console.log(`\n━━━ ${name}: skipped, since ${reason}; --fresh runs it`);
    return { name, result: "skipped", seconds: 0, reason };
  }
  const outcome = await runStep(step, { atOnce, chosen });
  if (outcome.result === "passed") notePassed(name, digest, outcome.processor ?? 0);
  return outcome;
}

/** The characters of a failed step's output that are printed again at the end, in case logs are cut. */
const LAST_CHARACTERS = 4_000;

/**
 * @param {readonly Outcome[]} outcomes
 * @param {number} seconds
 * @param {number} idle the share of the processors' time in which they had nothing to do
 */
function summarise(outcomes, seconds, idle) {
  console.log("\n━━━ summary");
  console.log(`${"".padEnd(24)}seconds  of a processor`);
  for (const { name, result, seconds, processor, reason = "" } of outcomes) {
    const mark = result === "failed" ? "FAILED " : result;
    const times = `${seconds.toFixed(1).padStart(7)}${(processor?.toFixed(1) ?? "").padStart(16)}`;
    console.log(`${name.padEnd(24)}${times}  ${mark} ${reason}`);
  }
  for (const { name, result, said } of outcomes) {
    if (result === "failed" && said)
      console.log(`
━━━ end of the output of ${name}:
${said.slice(-LAST_CHARACTERS)}`);
  }
  const count = (/** @type {Outcome["result"]} */ wanted) =>
    String(outcomes.filter(({ result }) => result === wanted).length);
  const used = outcomes.reduce((sum, { processor = 0 }) => sum + processor, 0);
  const times = `${seconds.toFixed(1).padStart(7)}${used.toFixed(1).padStart(16)}`;
  console.log(`${"all".padEnd(24)}${times}  processors idle for ${(idle * 100).toFixed(0)}% of the time`);
  console.log(`\n${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
  if (count("failed") !== "0") process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(() => test(process.argv.slice(2)));
