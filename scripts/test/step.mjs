/**
 * One of the chosen steps of `npm test`, in a process of its own: `node scripts/test/step.mjs NAME CHOSEN,CHOSEN`. The
 * last line that it prints says how long it has used a processor, where the system tells.
 */
import { readIfThere } from "../lib/files.mjs";
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
try {
  await step.run();
} catch (error) {
  if (!(error instanceof CommandFailed)) console.error(error);
  console.error(`failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

// Of this process and of those that it has waited for: the fields 14 to 17 of proc(5), in hundredths of a second.
const fields = readIfThere("/proc/self/stat")
  ?.toString()
  .replace(/^.*\) /, "")
  .split(" ");
if (fields !== undefined) {
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  console.log(`processor: ${(ticks / 100).toFixed(1)} s`);
}
