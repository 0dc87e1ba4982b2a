/** What was found, as Markdown tables: for the terminal and for the README, which knows them by these names. */
import type { Bar } from "./bars.ts";
import type { Bytes } from "./bytes.ts";
import type { PlaceResults, Results } from "./results.ts";
import type { Spread } from "./statistics.ts";
import type { Outcome } from "./suite.ts";

type Row = readonly string[];

export function tablesOfBytes({ files, message, held, sets, shardSizes }: Bytes): Record<string, string> {
  return {
    files: table(
      ["in an app, or as it is", "minified", "gzip", "brotli"],
      Object.entries(files).map(([name, size]) => [
        `\`${name}\``,
        kilobytes(size.bytes),
        kilobytes(size.gzip),
        kilobytes(size.brotli),
      ]),
    ),
    message: table(
      ["5,000 seen ids, as a server sends them", "plain", "brotli"],
      Object.entries(message).map(([name, { bytes, brotli }]) => [
        MESSAGES[name] ?? name,
        kilobytes(bytes),
        kilobytes(brotli),
      ]),
    ),
    held: table(
      ["a guard holds in memory", ""],
      [
        ["those 5 shards", kilobytes(held.shards)],
        ...Object.entries(sets).map(([place, { shards }]) => [
          `instead: a Set of the 5,000 ids, in ${place}`,
          kilobytes(shards),
        ]),
        ["10,000 impressions of its own", kilobytes(held.impressions)],
        ...Object.entries(sets).map(([place, { impressions }]) => [
          `instead: a Set of the 10,000 ids, in ${place}`,
          kilobytes(impressions),
        ]),
      ],
    ),
    shards: table(
      ["shards", "first page, store", "a refresh", "worst session", "without references", "sent up", "stopped falsely"],
      shardSizes.map(({ name, whole, refresh, worst, unreferenced, held, falsePositiveRate }) => [
        name,
        ...[whole, refresh, worst, unreferenced, held].map(preciseKilobytes),
        `${(100 * falsePositiveRate).toFixed(2)}%`,
      ]),
    ),
  };
}

const MESSAGES: Readonly<Record<string, string>> = {
  seenguard: "5 shards",
  Set: "a list of the ids",
  bloomfilter: "5 filters of npm `bloomfilter`",
  "bloom-filters": "5 filters of npm `bloom-filters`",
};

export function tablesOfTimes(results: Results): Record<string, string> {
  const { places, machine, quick } = results;
  const titles = places.map(({ title }) => title);
  return {
    machine: `On a ${machine};\n${titles.join(", ")}.${quick ? " **Too few repetitions to be quoted.**" : ""}`,
    bars: barTable(results.bars),
    times: timeTable(places, (workload) => MAIN.includes(workload)),
    workloads: timeTable(places, (workload) => !MAIN.includes(workload) && !workload.startsWith(SHARD_SIZES)),
    "shard-times": timeTable(places, (workload) => workload.startsWith(SHARD_SIZES)),
    rust: table(
      ["Rust: filter 2,000 ids", "", "ratio"],
      results.rust.map(({ name, ms, ratio }, index) => [name, timeOf(ms), index === 0 ? "" : ratioOf(ratio)]),
    ),
    starts: table(["from nothing, once a visit", ...titles], startRows(places)),
  };
}

function barTable(bars: readonly Bar[]): string {
  const value = (found: number, unit: string | undefined) =>
    `${significant(found)}${unit === undefined ? "" : ` ${unit}`}`;
  return table(
    ["", "where", "found", "bar", ""],
    bars.map(({ what, place, found, bar, aim, unit, met }) => [
      what,
      place,
      value(found, unit),
      `${value(bar, unit)}${aim === undefined ? "" : `, aim ${value(aim, unit)}`}`,
      met ? "met" : "**missed**",
    ]),
  );
}

/** What most readers ask for. */
const MAIN: readonly string[] = ["filter-2000", "filter-20", "apply"];
/** What the workloads of shard-sizes.ts begin with. */
const SHARD_SIZES = "sizes-";

function timeTable(places: readonly PlaceResults[], isWanted: (workload: string) => boolean): string {
  return table(["", ...places.flatMap(({ title }) => [title, "ratio"])], timeRows(places, isWanted));
}

/** A row for each workload and contender, side by side for the places. */
function timeRows(places: readonly PlaceResults[], isWanted: (workload: string) => boolean): Row[] {
  const outcomes = places[0]?.outcomes.filter(({ workload }) => isWanted(workload)) ?? [];
  return outcomes.flatMap(({ workload, title, measured }) =>
    measured.map(({ name }, index) => [
      `${title}: ${name}`,
      ...places.flatMap((place) => {
        const found = outcomeOf(place, workload)?.measured[index];
        return found === undefined ? ["", ""] : [timeOf(found.ms), index === 0 ? "" : ratioOf(found.ratio)];
      }),
    ]),
  );
}

function outcomeOf({ outcomes }: PlaceResults, workload: string): Outcome | undefined {
  return outcomes.find((outcome) => outcome.workload === workload);
}

const STEPS: readonly (readonly [contender: string, step: string, title: string])[] = [
  ["seenguard", "import", "import the package"],
  ["seenguard", "open", "`open`"],
  ["seenguard", "apply", "`apply` 5 full shards from JSON"],
  ["seenguard", "filter", "`filter` 20 ids from JSON"],
  ["seenguard", "all", "all of it"],
  ["seenguard, processor at a quarter", "ready", "import to ready, processor at a quarter"],
  ["seenguard, processor at a quarter", "compile", "of that: compiling and starting it"],
  ["seenguard, processor at a quarter", "database", "beside that: opening its IndexedDB"],
  ["impressions", "none", "`open` again, nothing stored"],
  ["impressions", "full", "`open` again, 10,000 impressions stored"],
  ["Set", "all", "instead: a Set of the 5,000 ids from JSON"],
];

function startRows(places: readonly PlaceResults[]): Row[] {
  return STEPS.map(([contender, step, title]) => [
    title,
    ...places.map(({ cold }) => {
      const found = cold[contender]?.[step];
      return found === undefined ? "" : timeOf(found);
    }),
  ]);
}

/** The median, and in brackets between what the middle half lies. */
function timeOf({ median, low, high }: Spread): string {
  const [unit, factor] = median < 1 ? ["µs", 1000] : ["ms", 1];
  const number = (ms: number) => significant(ms * factor);
  return `${number(median)} ${unit} (${number(low)}–${number(high)})`;
}

function ratioOf({ median, low, high }: Spread): string {
  return `${significant(median)} (${significant(low)}–${significant(high)})`;
}

function significant(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(value >= 10 ? 3 : 2);
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} KB`;
}

function preciseKilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(2)} KB`;
}

function table(heads: Row, rows: readonly Row[]): string {
  const widths = heads.map((head, column) => Math.max(3, head.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: Row) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(heads), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
