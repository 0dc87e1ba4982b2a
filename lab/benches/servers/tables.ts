/** The results as tables of docs/scale.md, by the names of their regions. */
import { peakOf } from "../scale/sizing.ts";
import { LOAD, MACHINES } from "../scale/tables.ts";
import { spreadOf, type Spread } from "../measure.ts";
import { tableOf } from "../tables.ts";
import { CANDIDATES, CONNECTIONS, IMPRESSIONS } from "./load.ts";
import { isPinned, type Turn } from "./processes.ts";

export interface Comparison {
  readonly name: "page" | "update";
  readonly rust: readonly Turn[];
  readonly node: readonly Turn[];
}

const HEADS = ["", "", "a second", "p99", "processor time", "ratio"];
const NAMES = { rust: "`seenguard-server`", node: "Node, Fastify" };
const KINDS = { page: `a page of ${CANDIDATES.toLocaleString("en")}`, update: `an update of ${String(IMPRESSIONS)}` };

/** `run`: the commit and the machine. */
export function tablesOf(run: string, comparisons: readonly Comparison[]): Record<string, string> {
  const cores = isPinned ? "each server on one core" : "each server on all cores";
  return {
    "servers-machine": `${run}; Node ${process.versions.node}, ${cores}, ${String(CONNECTIONS)} requests at a time.`,
    servers: tableOf(HEADS, comparisons.flatMap(rowsOf)),
    "servers-needs": tableOf(
      ["for the example's peak, in Redis", "busy cores", "processes, a core each"],
      (["rust", "node"] as const).map((kind) => {
        const cores = busyCores(comparisons, kind);
        return [NAMES[kind], cores.toFixed(1), String(Math.ceil(cores / MACHINES.coreShare))];
      }),
    ),
  };
}

/** The busy cores for all updates and pages of docs/scale.md's example. */
function busyCores(comparisons: readonly Comparison[], kind: "rust" | "node"): number {
  const { updates, pages } = peakOf(LOAD);
  const microseconds = (name: Comparison["name"]) => {
    const turns = comparisons.find((comparison) => comparison.name === name)?.[kind];
    return spreadOf((turns ?? []).map((turn) => turn.microseconds)).median;
  };
  return (updates * microseconds("update") + pages * microseconds("page")) / 1e6;
}

function rowsOf({ name, rust, node }: Comparison): string[][] {
  const what = `${KINDS[name]} in Redis`;
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
