/**
 * Runs the soaks with the built package: called by run.mjs, and by the steps `soak` and `soak-minute` of `npm test`.
 *
 *     tsx lab/soak/main.ts browser --browser chromium --days 60
 *     tsx lab/soak/main.ts service --minutes 20 --users 1000
 *
 * `--seed` sets the seed of people and faults, `--strict` asserts times, too, `--record` writes the tables into docs/.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { describeRun } from "../benches/machine.ts";
import { writeTables } from "../../scripts/lib/tables.mjs";
import { chromiumDriver } from "./browser/chromium.ts";
import { firefoxDriver } from "./browser/firefox.ts";
import { checksOf as browserChecksOf, rowsOf as browserRowsOf } from "./browser/results.ts";
import { soakBrowser, type BrowserOutcome } from "./browser/soak.ts";
import { printChecks } from "./checks.ts";
import { checksOf as serviceChecksOf, rowsOf as serviceRowsOf } from "./service/results.ts";
import { soakService } from "./service/soak.ts";

const DRIVERS = { chromium: chromiumDriver, firefox: firefoxDriver };

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    browser: { type: "string", default: "chromium,firefox" },
    days: { type: "string", default: "60" },
    minutes: { type: "string", default: "20" },
    users: { type: "string" },
    seed: { type: "string" },
    strict: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed ?? "1");

const print = (line: string): void => console.log(line);

/** Runs the soak of the browsers, concurrently. */
async function browsers(names: readonly string[], days: number): Promise<boolean> {
  const drivers = names.map((name) => {
    const driver = Object.values(DRIVERS).find((one) => one.name === name);
    if (!driver) throw new Error(`unknown browser: ${name}; known are ${Object.keys(DRIVERS).join(", ")}`);
    return driver;
  });
  const run = await describeRun();
  const outcomes = await Promise.all(drivers.map((driver) => soakBrowser({ driver, days, seed, print })));
  const table = browserTable(outcomes);
  print(`\n${run}.\n\n${table}`);
  if (values.record) await writeTables({ "soak-browsers": `${run}.\n\n${table}` }, ["lab/soak/README.md"]);
  return outcomes
    .map((outcome) => printChecks(outcome.version, browserChecksOf(outcome, values.strict), print))
    .every((isMet) => isMet);
}

function browserTable(outcomes: readonly BrowserOutcome[]): string {
  const columns = outcomes.map(browserRowsOf);
  return sideBySide(
    outcomes.map(({ version }) => version),
    columns,
  );
}

function sideBySide(headings: readonly string[], columns: readonly Record<string, string>[]): string {
  const names = [...new Set(columns.flatMap((column) => Object.keys(column)))];
  const rows = names.map((what) => [what, ...columns.map((column) => column[what] ?? "")]);
  const lines = [["", ...headings], ["---", ...headings.map(() => "---")], ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** The most minutes besides the load, for delivery and the audit. */
const MOST_MINUTES_AROUND = 10;

/** Runs the soak of the service. Without a seed, each run has faults at other times. */
async function service(users: number, minutes: number): Promise<boolean> {
  const tooLate = () => {
    console.error("the soak hangs: it exceeds the time of its load by minutes");
    process.exit(1);
  };
  setTimeout(tooLate, (minutes + MOST_MINUTES_AROUND) * 60_000).unref();
  const run = await describeRun();
  const seed = Number(values.seed ?? randomInt(2 ** 31));
  const profile = values.record ? "release" : "debug";
  const outcomes = await soakService({ users, minutes, seed, profile, print });
  const headings = outcomes.map(({ topology }) => `over ${topology}`);
  const table = sideBySide(headings, outcomes.map(serviceRowsOf));
  print(`\n${run}.\n\n${table}`);
  if (values.record) await writeTables({ "soak-service": `${run}.\n\n${table}` }, ["docs/scale.md"]);
  return outcomes
    .map((outcome) => printChecks(`the service over ${outcome.topology}`, serviceChecksOf(outcome, minutes), print))
    .every((isMet) => isMet);
}

async function main(): Promise<boolean> {
  const [command] = positionals;
  if (command === "browser") return browsers(values.browser.split(","), Number(values.days));
  if (command === "service") return service(Number(values.users ?? "1000"), Number(values.minutes));
  throw new Error("usage: main.ts browser|service, see the comment in main.ts");
}

// Started programs end with this process, so it need not wait for them.
main().then(
  (isMet) => process.exit(isMet ? 0 : 1),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
