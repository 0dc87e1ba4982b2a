/** The results as Markdown tables, for the terminal and the regions of these names in the documentation. */
import type { Bytes } from "./bytes.ts";
import { BRUTE_FORCE, type Searches } from "./rust.ts";
import { CONCURRENCY } from "./server/updates.ts";
import type { Measured, Spread } from "./measure.ts";
import type { Outcome } from "./workloads.ts";

type Row = readonly string[];

export interface PlaceResults {
  readonly name: string;
  readonly title: string;
  readonly outcomes: readonly Outcome[];
  /** Cold starts: the steps of each contender. */
  readonly cold: Readonly<Record<string, Readonly<Record<string, Spread>>>>;
}

/** The content of bench/results.json. Times are milliseconds. */
export interface Results {
  /** The time as ISO 8601. */
  readonly at: string;
  /** The commit and the machine. */
  readonly run: string;
  /** Whether there were too few repetitions for publication. */
  readonly quick: boolean;
  readonly bytes: Bytes;
  readonly places: readonly PlaceResults[];
  /** `Guard` first, then the crate `fastbloom`. */
  readonly rust: readonly Measured[];
  readonly searches: readonly Searches[];
  readonly server: {
    /** An update, then a request. */
    readonly rust: readonly Measured[];
    /** The time of one of many updates at the same time, through Redis. */
    readonly update: Spread;
  };
}

export function tablesOfBytes(bytes: Bytes): Record<string, string> {
  const { files, message, shardSizes } = bytes;
  return {
    files: tableOf(
      ["in an app, or as it is", "minified", "gzip", "brotli"],
      Object.entries(files).map(([name, size]) => [
        `\`${name}\``,
        kilobytes(size.bytes),
        kilobytes(size.gzip),
        kilobytes(size.brotli),
      ]),
    ),
    message: messageTable("5,000 seen ids, as a server sends them", message),
    held: tableOf(
      ["a guard holds in memory", ""],
      [
        ...heldRows(bytes, "those 5 shards", 5000, "shards"),
        ...heldRows(bytes, "10,000 impressions of its own", 10_000, "impressions"),
      ],
    ),
    shards: tableOf(
      ["shards", "first page, store", "a refresh", "worst session", "without references", "sent up", "stopped falsely"],
      shardSizes.map(({ name, whole, refresh, worst, unreferenced, held, falsePositiveRate }) => [
        name,
        ...[whole, refresh, worst, unreferenced, held].map(preciseKilobytes),
        `${(100 * falsePositiveRate).toFixed(2)}%`,
      ]),
    ),
  };
}

function messageTable(title: string, messages: Bytes["message"]): string {
  return tableOf(
    [title, "plain", "brotli"],
    Object.entries(messages).map(([name, { bytes, brotli }]) => [
      MESSAGES[name] ?? name,
      kilobytes(bytes),
      kilobytes(brotli),
    ]),
  );
}

const MESSAGES: Readonly<Record<string, string>> = {
  seenguard: "5 shards",
  Set: "a list of the ids",
  "sorted Uint32Array": "their 32-bit hashes, sorted, as base64",
  bloomfilter: "5 filters of npm `bloomfilter`",
  "bloom-filters": "5 filters of npm `bloom-filters`",
};

/** The memory of a guard, and of the other contenders with the same ids. */
function heldRows({ held, heaps }: Bytes, what: string, ids: number, of: keyof Bytes["held"]): Row[] {
  const all = ids.toLocaleString("en");
  return [
    [what, kilobytes(held[of])],
    ...Object.entries(heaps).map(([place, heap]) => [
      `instead: a Set of the ${all} ids, in ${place}`,
      kilobytes(heap[of]),
    ]),
    [`instead: their ${all} hashes in a Uint32Array`, kilobytes(ids * Uint32Array.BYTES_PER_ELEMENT)],
  ];
}

export function tablesOfTimes(results: Results): Record<string, string> {
  const { places, run, quick, server } = results;
  const titles = places.map(({ title }) => title);
  return {
    machine: `${run}; ${titles.join(", ")}.${quick ? " **Too few repetitions to be quoted.**" : ""}`,
    times: timeTable(places),
    rust: tableOf(
      ["Rust: filter 2,000 ids", "", "ratio"],
      results.rust.map(({ name, ms, ratio }, index) => [name, timeOf(ms), index === 0 ? "" : ratioOf(ratio)]),
    ),
    server: tableOf(
      ["one user's five full shards", "", "ratio"],
      [
        ...server.rust.map(({ name, ms, ratio }, index) => [
          `Rust: ${name}`,
          timeOf(ms),
          index === 0 ? "" : ratioOf(ratio),
        ]),
        [`Node: \`update\` through Redis, ${String(CONCURRENCY)} at a time`, timeOf(server.update), ""],
      ],
    ),
    "near-duplicates": searchTable(results.searches),
    starts: tableOf(["from nothing, once a visit", ...titles], startRows(places)),
  };
}

function searchTable(searches: readonly Searches[]): string {
  const names = searches[0]?.measured.map(({ name }) => name) ?? [];
  return tableOf(
    ["Rust: fingerprints", ...names, "ratio"],
    searches.map(({ size, measured }) => [
      size.toLocaleString("en"),
      ...measured.map(({ ms }) => timeOf(ms)),
      ...measured.filter(({ name }) => name === BRUTE_FORCE).map(({ ratio }) => ratioOf(ratio)),
    ]),
  );
}

function timeTable(places: readonly PlaceResults[]): string {
  return tableOf(["", ...places.flatMap(({ title }) => [title, "ratio"])], timeRows(places));
}

/** A row for each workload and contender, with columns for the runtimes. */
function timeRows(places: readonly PlaceResults[]): Row[] {
  const outcomes = places[0]?.outcomes ?? [];
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
  ["seenguard, processor at a quarter", "ready", "import to ready, ¼ processor"],
  ["nothing", "ready", "instead: an empty module, an IndexedDB opened"],
  ["nothing, processor at a quarter", "ready", "the same, ¼ processor"],
  ["impressions", "none", "`open` again, nothing stored"],
  ["impressions", "full", "`open` again, 10,000 stored"],
  ["impressions", "task", "longest task: 10,000 stored, 5,000 pending; ¼ processor"],
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

/** The median, with the quartiles in brackets. */
function timeOf({ median, low, high }: Spread): string {
  const [unit, factor] = median < 1 ? ["µs", 1000] : ["ms", 1];
  const number = (ms: number) => significant(ms * factor);
  return `${number(median)} ${unit} (${number(low)}–${number(high)})`;
}

function ratioOf({ median, low, high }: Spread): string {
  return `${significant(median)} (${significant(low)}–${significant(high)})`;
}

export function significant(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(value >= 10 ? 3 : 2);
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} KB`;
}

function preciseKilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(2)} KB`;
}

export function tableOf(heads: Row, rows: readonly Row[]): string {
  const widths = heads.map((head, column) => Math.max(3, head.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: Row) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(heads), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
