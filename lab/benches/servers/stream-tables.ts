/** What was found of reports by way of a stream, as tables of docs/scale.md and docs/streams.md, by their names. */
import { peakOf } from "../scale/sizing.ts";
import { LOAD, MACHINES } from "../scale/tables.ts";
import { spreadOf } from "../statistics.ts";
import { tableOf } from "../tables.ts";
import { IMPRESSIONS } from "./load.ts";
import {
  CONNECTIONS,
  PARTITIONS,
  PROCESSES,
  type FullTurn,
  type PacedTurn,
  type Pipeline,
  type Process,
} from "./pipelines.ts";
import { withQuartiles } from "./tables.ts";

/** What was found of one of the two. */
export interface Outcome {
  readonly pipeline: Pipeline;
  readonly full: FullTurn[];
  readonly paced: PacedTurn[];
}

export interface StreamResults {
  /** The commit and the machine. */
  readonly run: string;
  readonly outcomes: readonly Outcome[];
  /** Reports a second of the turns that are not at full speed. */
  readonly rate: number;
}

export function tablesOf({ run, outcomes, rate }: StreamResults): Record<string, string> {
  const heads = ["", ...outcomes.map(({ pipeline }) => pipeline.name)];
  const row = (what: string, of: (outcome: Outcome) => string) => [what, ...outcomes.map(of)];
  const whole = (value: number) => Math.round(value).toLocaleString("en");
  const ms = (values: readonly number[]) => withQuartiles(spreadOf(values), whole, " ms");
  return {
    "streams-machine":
      `${run};\nreports of ${String(IMPRESSIONS)}, ` +
      `${String(CONNECTIONS)} requests at a time, one broker, ${String(PARTITIONS)} partitions.`,
    streams: tableOf(heads, [
      row("reports a second, until they are in the chains", ({ full }) =>
        withQuartiles(spreadOf(full.map(({ reportsPerSecond }) => reportsPerSecond)), whole),
      ),
      ...PROCESSES.map((process) =>
        row(`processor time a report: ${process}`, (outcome) =>
          hasProcess(outcome, process) ? withQuartiles(timesOf(outcome, process), whole, " µs") : "",
        ),
      ),
      ...(["p50", "p99"] as const).map((name) =>
        row(`at ${whole(rate)} a second, the 204, ${name}`, ({ paced }) => ms(paced.map((turn) => turn[name]))),
      ),
      ...([0.5, 0.99] as const).map((share) =>
        row(`from the request to the chain, p${String(100 * share)}`, ({ paced }) =>
          ms(paced.map(({ lags }) => percentile(lags, share))),
        ),
      ),
    ]),
    "streams-needs": tableOf(
      ["for the example's peak", "busy cores of services", "busy cores of consumers", "consumers, a core each"],
      outcomes.map((outcome) => {
        const [service, consumer] = (["service", "consumer"] as const).map(
          (process) => (peakOf(LOAD).updates * timesOf(outcome, process).median) / 1e6,
        );
        const consumers = Math.ceil((consumer ?? NaN) / MACHINES.coreShare);
        return [
          outcome.pipeline.name,
          ...[service, consumer].map((cores) => (cores ?? NaN).toFixed(1)),
          whole(consumers),
        ];
      }),
    ),
  };
}

const hasProcess = ({ full }: Outcome, process: Process) =>
  full.every((turn) => turn.microseconds[process] !== undefined);
const timesOf = ({ full }: Outcome, process: Process) =>
  spreadOf(full.map((turn) => turn.microseconds[process] ?? NaN));

/** Beneath which this share of the values lies. */
function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
}
