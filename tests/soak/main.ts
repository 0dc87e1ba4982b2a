/**
 * The soaks, with the package built: run.mjs calls this, and the step `soak` of `npm test -- --all`.
 *
 *     tsx tests/soak/main.ts browser --browser chromium --days 60
 *     tsx tests/soak/main.ts server --minutes 20 --users 2000
 *     tsx tests/soak/main.ts step      both browsers for 6 virtual days at once, and a minute of the server
 *
 * `--seed` draws other people, `--strict` asserts times, too, `--record` writes the tables into docs/.
 */
import { parseArgs } from "node:util";
import { describeLoad, describeMachine } from "../../benches/machine.ts";
import { writeTables } from "../../scripts/lib/tables.mjs";
import { chromiumDriver } from "./browser/chromium.ts";
import { firefoxDriver } from "./browser/firefox.ts";
import { checksOf as browserChecksOf, rowsOf as browserRowsOf } from "./browser/results.ts";
import { soakBrowser, type BrowserOutcome } from "./browser/soak.ts";
import { judge } from "./checks.ts";
import { checksOf as serverChecksOf, rowsOf as serverRowsOf } from "./server/results.ts";
import { soakServer, type ServerOutcome } from "./server/soak.ts";

const DRIVERS = { chromium: chromiumDriver, firefox: firefoxDriver };
const KILLS = 3;
/** Two minutes. */
const STEP_DAYS = 6;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    browser: { type: "string", default: "chromium,firefox" },
    days: { type: "string", default: "60" },
    minutes: { type: "string", default: "20" },
    users: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    strict: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);

/** In lines that fit into a document. */
const machineAndLoad = (): string => describeMachine() + describeLoad().replace(", ", ",\n");

const say = (line: string): void => console.log(line);

/** The browsers at the same time. */
async function browsers(names: readonly string[], days: number): Promise<boolean> {
  const drivers = names.map((name) => {
    const driver = Object.values(DRIVERS).find((one) => one.name === name);
    if (!driver) throw new Error(`there is no browser ${name}: ${Object.keys(DRIVERS).join(", ")}`);
    return driver;
  });
  const machine = machineAndLoad();
  const outcomes = await Promise.all(drivers.map((driver) => soakBrowser({ driver, days, seed, say })));
  const table = browserTable(outcomes);
  say(`\nOn a ${machine}.\n\n${table}`);
  if (values.record) await writeTables({ "soak-browsers": `On a ${machine}.\n\n${table}` }, ["docs/performance.md"]);
  return outcomes
    .map((outcome) => judge(outcome.version, browserChecksOf(outcome, values.strict), say))
    .every((isMet) => isMet);
}

function browserTable(outcomes: readonly BrowserOutcome[]): string {
  const columns = outcomes.map(browserRowsOf);
  const rows = Object.keys(columns[0] ?? {}).map((what) => [what, ...columns.map((column) => column[what] ?? "")]);
  return tableOf(["", ...outcomes.map(({ version }) => version)], rows);
}

async function server(users: number, minutes: number, kills: number): Promise<boolean> {
  const machine = machineAndLoad();
  const outcome: ServerOutcome = await soakServer({ users, minutes, kills, seed, say });
  const table = tableOf(["", "measured"], serverRowsOf(outcome));
  say(`\nOn a ${machine}.\n\n${table}`);
  if (values.record) await writeTables({ "soak-server": `On a ${machine}.\n\n${table}` }, ["docs/server.md"]);
  return judge("the demo's server", serverChecksOf(outcome), say);
}

function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

async function main(): Promise<boolean> {
  const [command] = positionals;
  if (command === "browser") return browsers(values.browser.split(","), Number(values.days));
  if (command === "server") return server(Number(values.users), Number(values.minutes), KILLS);
  if (command !== "step") throw new Error("usage: main.ts browser|server|step, see its first lines");
  const isServerFine = await server(300, 1, 1);
  return (await browsers(Object.keys(DRIVERS), STEP_DAYS)) && isServerFine;
}

// What was started is ended with this process, and nothing of it is to keep it waiting.
main().then(
  (isMet) => process.exit(isMet ? 0 : 1),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
