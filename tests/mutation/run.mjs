/**
 * Breaks the code on purpose, one rule at a time, and tells which test notices: `npm run mutants`. See README.md.
 *
 *     npm run mutants                             all mutants of rust-list.json and js-list.json
 *     npm run mutants -- rust                     those of one list: rust or js
 *     npm run mutants -- --only impressions.rs    those whose name or file has this text, the harmless ones, too
 */
import { parseArgs } from "node:util";
import { tryJs } from "./js.mjs";
import { isThereOnce, readList, remember } from "./lists.mjs";
import { tryRust } from "./rust.mjs";

/** @typedef {import("./lists.mjs").Mutant} Mutant */
/** @typedef {import("./lists.mjs").Outcome} Outcome */
/** @typedef {(mutant: Mutant, outcome: Outcome) => void} Report */
/** @typedef {(mutants: readonly Mutant[], report: Report) => Promise<void> | void} Try */

/** @type {Readonly<Record<string, Try>>} */
const LANGUAGES = { rust: tryRust, js: tryJs };

const { values, positionals } = parseArgs({ options: { only: { type: "string" } }, allowPositionals: true });
const unknown = positionals.find((language) => !(language in LANGUAGES));
if (unknown !== undefined) throw new Error(`${unknown} has no list of mutants: there are rust and js`);

/** @type {[name: string, outcome: string][]} */
const rows = [];
const counts = { caught: 0, harmless: 0, survive: 0, gone: 0 };
for (const [language, tryAll] of Object.entries(LANGUAGES)) {
  if (positionals.length > 0 && !positionals.includes(language)) continue;
  const text = values.only ?? "";
  const chosen = readList(language).filter(({ name, file }) => name.includes(text) || file.includes(text));
  const tried = chosen.filter((mutant) => isThereOnce(mutant) && (!mutant.harmless || values.only !== undefined));
  for (const mutant of chosen) {
    if (!isThereOnce(mutant)) add(mutant, "gone", `the text is not in ${mutant.file} once`);
    else if (!tried.includes(mutant)) add(mutant, "harmless", `harmless: ${mutant.harmless ?? ""}`);
  }
  if (tried.length === 0) continue;
  let done = 0;
  await tryAll(tried, (mutant, outcome) => {
    const result = "by" in outcome ? outcome.by : outcome.problem;
    console.log(`${language} ${String((done += 1))}/${String(tried.length)} ${mutant.name}: ${result}`);
    if ("problem" in outcome) add(mutant, mutant.harmless ? "harmless" : "survive", outcome.problem);
    else {
      add(mutant, "caught", `\`${outcome.by}\``);
      if (outcome.by !== mutant.by) remember(language, mutant, outcome.by);
    }
  });
}
const cell = (/** @type {string} */ text) => text.replaceAll("|", "\\|");
const lines = rows.map((row) => `| ${row.map(cell).join(" | ")} |`);
console.log(["", "| mutant | caught by |", "| --- | --- |", ...lines, ""].join("\n"));
const { caught, harmless, survive, gone } = counts;
console.log(`${caught} caught, ${harmless} harmless, ${survive} survive, ${gone} whose text is gone`);
process.exitCode = survive + gone > 0 ? 1 : 0;

/**
 * @param {Mutant} mutant
 * @param {keyof typeof counts} kind
 * @param {string} result
 */
function add({ name }, kind, result) {
  counts[kind] += 1;
  rows.push([name, result]);
}
