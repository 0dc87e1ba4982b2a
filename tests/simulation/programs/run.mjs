/**
 * Runs the programs for long, from nothing: `node tests/simulation/programs/run.mjs [--minutes N]`, 20 if it is absent.
 *
 * Each engine has a process of its own. The seed is another one each time, unless SEENGUARD_PROGRAMS_SEED is set; the
 * figures go into README.md next to this file.
 */
import { parseArgs } from "node:util";
import { build } from "../../../scripts/build.mjs";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { runAndRead } from "../../../scripts/lib/run.mjs";
import { writeTables } from "../../../scripts/lib/tables.mjs";
import { main } from "../../../scripts/setup.mjs";

const engines = ["wasm", "js"];

/** What programs.ts prints of each property. */
const said = /^.*programs: (.+): seed \d+, (\d+) programs, (\d+) commands in ([\d.]+) s, (\d+) MB$/gm;

/**
 * The figures of all engines together.
 * @param {readonly string[]} outputs what each has printed
 */
function table(outputs) {
  const found = outputs.flatMap((output) => [...output.matchAll(said)]);
  const rows = [...new Set(found.map(([, name]) => name))].map((name) => {
    const figures = (/** @type {number} */ index) =>
      found.filter((match) => match[1] === name).map((match) => Number(match[index]));
    const sum = (/** @type {number} */ index) =>
      figures(index)
        .reduce((total, figure) => total + figure, 0)
        .toLocaleString("en");
    const seconds = `${engines.length} × ${Math.max(...figures(4)).toFixed(0)}`;
    return `| ${[name, sum(2), sum(3), seconds, `${Math.max(...figures(5))} MB`].join(" | ")} |`;
  });
  return [
    "| programs of | programs | commands | seconds | peak memory of a process |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

await main(async () => {
  const { values } = parseArgs({ options: { minutes: { type: "string", default: "20" } } });
  await build({ sizes: false });
  const seed = process.env.SEENGUARD_PROGRAMS_SEED ?? String(Date.now() % 2 ** 31);
  const env = { SEENGUARD_PROGRAMS_SECONDS: String(60 * Number(values.minutes)), SEENGUARD_PROGRAMS_SEED: seed };
  const vitest = [inProject("node_modules", "vitest", "vitest.mjs"), "run", "--project", "programs"];
  const outputs = await Promise.all(
    engines.map((engine) => runAndRead(process.execPath, vitest, { env: { ...env, SEENGUARD_ENGINE: engine } })),
  );
  await writeTables({ programs: table(outputs) }, ["tests/simulation/programs/README.md"]);
});
