/** The criteria of a browser's run, and its column in the table. */
import { max, median } from "simple-statistics";
import { none, type Check } from "../checks.ts";
import { trendOf, type Trend } from "../figures.ts";
import { UPHEAVAL_UNTIL } from "./events.ts";
import type { BrowserOutcome, Sample } from "./soak.ts";
import type { SlowTask } from "./slot.ts";

/** The share of new items that the guard may stop wrongly. */
const FALSE_STOPS = 0.01;
/** The part at the start and at the end of the run whose openings are compared. */
const PART = 1 / 6;
const SLOWER = 1.25;

type Quantity = Exclude<keyof Sample, "day">;

/** Values that must not grow. */
const QUANTITIES: Readonly<Record<Quantity, string>> = {
  objects: "JavaScript objects",
  heap: "JavaScript heap",
  nodes: "DOM nodes",
  listeners: "event listeners",
  wasm: "Wasm memory",
  keys: "storage keys",
  characters: "stored characters",
  usage: "the origin's usage",
  resident: "memory of all processes",
};
/**
 * Quantities that depend on the browser: the heap contains machine code, which grows with a page's age; databases are
 * compacted at times, and processes do not return memory.
 */
const BROWSER_QUANTITIES: readonly Quantity[] = ["heap", "usage", "resident"];
/** Quantities that are counts; the others are bytes. */
const COUNTED: readonly Quantity[] = ["objects", "nodes", "listeners", "keys"];
/** The share of the run after which Wasm memory must not grow. It never shrinks, so one earlier peak is allowed. */
const WASM_SETTLED = 2 / 3;
/** Rows of the table in the documentation. */
const DOCUMENTED: readonly Quantity[] = ["objects", "heap", "wasm", "keys", "characters"];
/** The days from which slopes are asserted: in fewer, rows are compacted too seldom. */
const DAYS_FOR_SLOPES = 30;

/** The trend of each quantity once it has settled, except those that the browser does not report. */
export function trendsOf({ samples, options }: BrowserOutcome): Map<Quantity, Trend> {
  const trends = new Map<Quantity, Trend>();
  for (const quantity of Object.keys(QUANTITIES) as Quantity[]) {
    const begin = options.days * (quantity === "wasm" ? WASM_SETTLED : UPHEAVAL_UNTIL);
    const settled = samples.filter(({ day }) => day >= begin);
    const points = settled.flatMap((sample) => {
      const value = sample[quantity];
      return value === undefined ? [] : [{ at: sample.day, value }];
    });
    if (points.length > 2) trends.set(quantity, trendOf(points));
  }
  return trends;
}

/** @param isStrict whether times are asserted, too */
export function checksOf(outcome: BrowserOutcome, isStrict: boolean): Check[] {
  const { ledger, device, lost, leftover } = outcome;
  const isHappening = device.kills.tabs > 0 && device.kills.browsers > 1 && device.fillings > 0 && device.outages > 0;
  const falseStops = ledger.firstStopped / ledger.first;
  const slow = duringCalls(device.longTasks, 4);
  const opening = openingsOf(outcome);
  return [
    none("shown again", ledger.repeats),
    none("recorded and lost", lost),
    none("errors of pages", device.unexpected),
    none("idle namespaces that are left", leftover),
    {
      what: "tabs and browsers were killed, the network was gone, the storage full",
      isMet: isHappening,
      found: eventsOf(outcome),
      isAsserted: true,
    },
    {
      what: "items stopped though they are new",
      isMet: falseStops <= FALSE_STOPS,
      found: `${String(ledger.firstStopped)} of ${String(ledger.first)}`,
      isAsserted: true,
    },
    ...[...trendsOf(outcome)].map(([quantity, trend]): Check => ({
      what: `${QUANTITIES[quantity]} does not grow`,
      isMet: trend.isFlat,
      found: describeTrend(quantity, trend),
      isAsserted: outcome.options.days >= DAYS_FOR_SLOPES && !BROWSER_QUANTITIES.includes(quantity),
    })),
    {
      what: "opening is not slower at the end than at the beginning",
      isMet: opening.ratio <= SLOWER,
      found: `${opening.first.toFixed(1)} ms, ${opening.last.toFixed(1)} ms; ratio to fixed work ${opening.ratio.toFixed(2)}`,
      isAsserted: isStrict,
    },
    {
      what: "no task over 50 ms in a call of the package, the processor at a quarter",
      isMet: slow.length === 0,
      found: describeTasks(slow),
      isAsserted: isStrict,
    },
  ];
}

/** The rows of the table, by their labels. */
export function rowsOf(outcome: BrowserOutcome): Record<string, string> {
  const { ledger, lost, options, device } = outcome;
  const { kills, outages, fillings } = device;
  const trends = trendsOf(outcome);
  const opening = openingsOf(outcome);
  const trend = (quantity: Quantity) => {
    const found = trends.get(quantity);
    return found ? describeTrend(quantity, found) : "not measured";
  };
  const rows: Record<string, string> = {
    "virtual days": String(options.days),
    "items shown; of these again": `${count(ledger.shown)}; ${String(ledger.repeats.length)}`,
    "shown 1 to 10 s after another tab stored it": String(ledger.late),
    "new items stopped": `${count(ledger.firstStopped)} of ${count(ledger.first)}`,
    "impressions; of these lost": `${count(ledger.recorded)}; ${String(lost.length)}`,
    "tabs and browsers killed, outages, times full": [kills.tabs, kills.browsers, outages, fillings].join(", "),
  };
  for (const quantity of DOCUMENTED) rows[QUANTITIES[quantity]] = trend(quantity);
  const [begin, end] = [opening.first, opening.last].map((ms) => `${ms.toFixed(1)} ms`);
  return { ...rows, "`open`: first and last sixth": `${begin ?? ""}, ${end ?? ""}` };
}

function eventsOf({ device }: BrowserOutcome): string {
  const { kills, outages, fillings, expected } = device;
  const killed = `${String(kills.tabs)} tabs and ${String(kills.browsers)} browsers killed`;
  const slow = `${String(expected.get("slow storage") ?? 0)} times the storage did not answer in time`;
  return `${killed}, ${String(outages)} outages, ${String(fillings)} times full, ${slow}`;
}

function duringCalls(tasks: readonly SlowTask[], slowdown: number): SlowTask[] {
  return tasks.filter((task) => task.slowdown === slowdown && task.during !== "");
}

/** Describes long tasks, grouped by their calls. */
function describeTasks(tasks: readonly SlowTask[]): string {
  if (tasks.length === 0) return "none";
  const calls = [...new Set(tasks.map(({ during }) => during))].map((call) => ({
    call,
    times: tasks.filter(({ during }) => during === call).map(({ ms }) => ms),
  }));
  return calls
    .sort((a, b) => b.times.length - a.times.length)
    .map(({ call, times }) => `${call} ${String(times.length)}, the longest ${String(max(times))} ms`)
    .join("; ");
}

/** Medians of the first and the last part, and their ratio after dividing each opening by its reference. */
function openingsOf({ openings, options }: BrowserOutcome): { first: number; last: number; ratio: number } {
  const normal = openings.filter(({ slowdown }) => slowdown === 1);
  const begin = (normal[0]?.day ?? 0) + options.days * PART;
  const end = (normal.at(-1)?.day ?? 0) - options.days * PART;
  const parts = [normal.filter(({ day }) => day <= begin), normal.filter(({ day }) => day >= end)];
  const [first = 0, last = 0] = parts.map((part) => median(part.map(({ openMs }) => openMs)));
  const [before = 1, after = 1] = parts.map((part) =>
    median(part.map(({ openMs, referenceMs }) => openMs / referenceMs)),
  );
  return { first, last, ratio: after / before };
}

function describeTrend(quantity: Quantity, { median: level, drift, spread }: Trend): string {
  const isCount = COUNTED.includes(quantity);
  const show = (value: number) => (isCount ? value.toFixed(0) : `${(value / 1024).toFixed(0)} KB`);
  return `${show(level)}, drift ${drift > 0 ? "+" : ""}${show(drift)}, spread ${show(spread)}`;
}

const count = (value: number): string => value.toLocaleString("en");
