/** One step of `npm test`, in a process of its own: `node scripts/test/step.mjs NAME`. */
import { CommandFailed } from "../lib/run.mjs";
import { steps } from "./steps.mjs";

const step = steps.find(({ name }) => name === process.argv[2]);
if (step === undefined) throw new Error(`no such step: ${process.argv[2] ?? ""}`);
try {
  await step.run();
} catch (error) {
  if (!(error instanceof CommandFailed)) console.error(error);
  console.error(`failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
