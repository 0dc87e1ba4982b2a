/** The results as tables of docs/scale.md, by their names there. */
import type { Measured } from "../measure.ts";
import { peakOf } from "../scale/sizing.ts";
import { LOAD, MACHINES } from "../scale/tables.ts";
import { spreadOf, type Spread } from "../statistics.ts";
import { tableOf } from "../tables.ts";
import { CANDIDATES, CONNECTIONS, IMPRESSIONS, IMPRESSIONS_OF_MANY } from "./load.ts";
import { isPinned, type Turn } from "./processes.ts";

export interface Comparison {
  readonly place: string;
  readonly name: "page" | "update";
  readonly rust: readonly Turn[];
  readonly node: readonly Turn[];
}

/** Of a process in bytes: before there were users, and what they have added. */
export interface Resident {
  readonly name: string;
  readonly before: number;
  readonly bytes: number;
}

export interface ServersResults {
  readonly machine: string;
  readonly load: string;
  readonly comparisons: readonly Comparison[];
  readonly resident: readonly Resident[];
  readonly many: number;
  /** A page by the core; the ratio is the store's time as a share of it. */
  readonly core: Measured;
}

export const IN_REDIS = "in Redis";
const HEADS = ["", "", "a second", "p99", "processor time", "ratio"];
const NAMES = { rust: "`seenguard-server`", node: "Node, Fastify" };
const KINDS = { page: `a page of ${CANDIDATES.toLocaleString("en")}`, update: `an update of ${String(IMPRESSIONS)}` };

export function tablesOf({ machine, load, comparisons, resident, many, core }: ServersResults): Record<string, string> {
  const cores = isPinned ? "each server on one core" : "each server on all cores";
  return {
    "servers-machine": `On a ${machine}${load};\nNode ${process.versions.node}, ${cores}, ${String(CONNECTIONS)} requests at a time.`,
    servers: tableOf(HEADS, comparisons.filter(({ place }) => place === IN_REDIS).flatMap(rowsOf)),
    "servers-in-memory": tableOf(HEADS, comparisons.filter(({ place }) => place !== IN_REDIS).flatMap(rowsOf)),
    "servers-needs": tableOf(
      ["for the example's peak, in Redis", "busy cores", "processes, a core each"],
      (["rust", "node"] as const).map((kind) => {
        const cores = busyCores(comparisons, kind);
        return [NAMES[kind], cores.toFixed(1), String(Math.ceil(cores / MACHINES.coreShare))];
      }),
    ),
    "servers-memory": tableOf(
      [
        "process",
        "alone",
        `${many.toLocaleString("en")} users of ${String(IMPRESSIONS_OF_MANY)} impressions add`,
        "each",
      ],
      resident.map(({ name, before, bytes }) => [
        name,
        megabytes(before),
        megabytes(bytes),
        `${(bytes / many).toFixed(0)} B`,
      ]),
    ),
    "servers-page": `**${core.ratio.median.toFixed(2)}** (${core.ratio.low.toFixed(2)}–${core.ratio.high.toFixed(2)})`,
  };
}

/** Of all updates and pages of docs/scale.md's example. */
function busyCores(comparisons: readonly Comparison[], kind: "rust" | "node"): number {
  const { updates, pages } = peakOf(LOAD);
  const microseconds = (name: Comparison["name"]) => {
    const turns = comparisons.find((comparison) => comparison.place === IN_REDIS && comparison.name === name)?.[kind];
    return spreadOf((turns ?? []).map((turn) => turn.microseconds)).median;
  };
  return (updates * microseconds("update") + pages * microseconds("page")) / 1e6;
}

function rowsOf({ place, name, rust, node }: Comparison): string[][] {
  const what = `${KINDS[name]} ${place}`;
  const ratios = node.map(({ microseconds }, turn) => microseconds / (rust[turn]?.microseconds ?? NaN));
  return [
    [what, NAMES.rust, ...numbersOf(rust), ""],
    ["", NAMES.node, ...numbersOf(node), withQuartiles(spreadOf(ratios), (ratio) => ratio.toFixed(1))],
  ];
}

function numbersOf(turns: readonly Turn[]): string[] {
  const spread = (value: (turn: Turn) => number) => spreadOf(turns.map(value));
  return [
    Math.round(spread(({ requestsPerSecond }) => requestsPerSecond).median).toLocaleString("en"),
    `${spread(({ p99 }) => p99).median.toFixed(0)} ms`,
    withQuartiles(
      spread(({ microseconds }) => microseconds),
      (time) => time.toFixed(0),
      " µs",
    ),
  ];
}

export function withQuartiles({ median, low, high }: Spread, format: (value: number) => string, unit = ""): string {
  return `${format(median)}${unit} (${format(low)}–${format(high)})`;
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
