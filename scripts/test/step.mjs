/**
 * One of the chosen steps of `npm test`, in a process of its own: `node scripts/test/step.mjs NAME CHOSEN,CHOSEN`. The
 * last line that it prints says how long it has used a processor, where the system tells.
 */
import { constants, setPriority } from "node:os";
import { statOf } from "../lib/processes.mjs";
import { programs } from "../lib/programs.mjs";
import { CommandFailed } from "../lib/run.mjs";
import { findStep } from "./rule.mjs";
import { withSetUp } from "./set-up.mjs";

const [wanted, chosen = ""] = process.argv.slice(2);
const others = chosen.split(",").flatMap((name) => findStep(name) ?? []);
const step = findStep(wanted ?? "") ?? (await withSetUp(others)).find(({ name }) => name === wanted);
if (step === undefined) throw new Error(`no such step: ${wanted ?? ""}`);
const isNamed = (/** @type {[string, unknown]} */ [, program]) =>
  program === programs.compiler || step.programs?.some((other) => other === program) === true;
process.env.SEENGUARD_PROGRAMS = Object.entries(programs)
  .filter(isNamed)
  .map(([name]) => name)
  .join(",");
for (const { name, gives } of others) if (step.needs?.includes(name)) Object.assign(process.env, gives);
// What it starts inherits it.
if (step.low) setPriority(constants.priority.PRIORITY_LOW);
try {
  await step.run();
} catch (error) {
  if (!(error instanceof CommandFailed)) console.error(error);
  console.error(`failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

const used = statOf("self")?.seconds;
if (used !== undefined) console.log(`processor: ${used.toFixed(1)} s`);
