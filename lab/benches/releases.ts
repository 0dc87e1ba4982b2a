/**
 * Filtering against `Set.has` in each release of Node that the package supports, one after the other: prints a sentence,
 * and with `--readme` writes it into docs/performance.md. `run.mjs` says what the arguments are.
 */
import { parseArgs } from "node:util";
import { writeTables } from "../../scripts/lib/tables.mjs";
import { bundleAll } from "./places/bundle.ts";
import { evaluate } from "./places/node.ts";
import { say } from "./places/place.ts";
import { measuredRelease, nodeOf, olderReleases } from "../../scripts/lib/node-releases.mjs";
import type { Outcome } from "./suite.ts";
import { significant } from "./tables.ts";

const { values } = parseArgs({
  options: { releases: { type: "boolean" }, smoke: { type: "boolean" }, readme: { type: "boolean" } },
});
const effort =
  values.smoke === true ? { rounds: 1, roundMs: 1, warmupMs: 1 } : { rounds: 60, roundMs: 40, warmupMs: 500 };

interface Ratios {
  readonly version: string;
  readonly of2000: string;
  readonly of20: string;
}

const { suite } = await bundleAll();
const found: Ratios[] = [];
for (const version of [...olderReleases, measuredRelease]) found.push(await measureIn(version));
const list = new Intl.ListFormat("en-GB");
const all = (what: keyof Ratios) => list.format(found.map((ratios) => ratios[what]));
// In lines that fit into a document.
const sentence =
  `With Node ${all("version")}, filtering 2,000 ids takes\n` +
  `${all("of2000")} of the time of \`Set.has\`, and filtering 20 takes ${all("of20")}.`;
console.log(sentence);
if (values.readme === true) await writeTables({ releases: sentence }, ["docs/performance.md"]);

async function measureIn(release: string): Promise<Ratios> {
  const node = await nodeOf(release);
  if (node === undefined) throw new Error(`Node ${release} can be installed on Linux with an x64 processor alone`);
  say(`Node ${release}`);
  const call = "async (suite, effort) => [process.versions.node, await suite.runAgainstSet(effort)]";
  const [version, outcomes] = (await evaluate(suite, call, [effort], { node })) as [string, Outcome[]];
  const ratio = (workload: string) => {
    const measured = outcomes.find((outcome) => outcome.workload === workload)?.measured;
    return significant(measured?.find(({ name }) => name === "Set")?.ratio.median ?? NaN);
  };
  return { version, of2000: ratio("filter-2000"), of20: ratio("filter-20") };
}
