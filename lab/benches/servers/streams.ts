/**
 * Compares reports through Kafka, with a broker of its own, and through a Redis stream, into the same users' chains:
 * `npm run bench -- --streams`. They are measured in turns. `--readme` also writes the tables into docs/; `--smoke`
 * sends the fewest reports.
 */
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { startKafka } from "../../../scripts/lib/kafka.mjs";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { buildService, chainFlags, startService } from "../../../scripts/lib/service.mjs";
import { writeTables } from "../../../scripts/lib/tables.mjs";
import { describeRun } from "../machine.ts";
import { namespaceOf, recommended } from "../scale/chains.ts";
import { peakOf } from "../scale/sizing.ts";
import { LOAD, MACHINES } from "../scale/tables.ts";
import { spreadOf } from "../measure.ts";
import { tableOf } from "../tables.ts";
import { fillUsers, IMPRESSIONS, reportsOf, type Work } from "./load.ts";
import {
  CONNECTIONS,
  PARTITIONS,
  Pipeline,
  PROCESSES,
  type FullTurn,
  type PacedTurn,
  type Process,
} from "./pipelines.ts";
import { withQuartiles } from "./tables.ts";

const { values } = parseArgs({ options: { smoke: { type: "boolean" }, readme: { type: "boolean" } } });
/** More users than a batch has reports, so that a batch has one report of each. */
const effort =
  values.smoke === true
    ? { turns: 1, reports: 2_000, seconds: 1, users: 20 }
    : { turns: 5, reports: 10_000, seconds: 10, users: 1_000 };

const print = (line: string) => {
  console.error(`  ${line}`);
};

/** The results of one of the two. */
interface Outcome {
  readonly pipeline: Pipeline;
  readonly full: FullTurn[];
  readonly paced: PacedTurn[];
}

interface StreamResults {
  /** The commit and the machine. */
  readonly run: string;
  readonly outcomes: readonly Outcome[];
  /** The reports per second of the turns at a fixed rate. */
  readonly rate: number;
}

function tablesOf({ run, outcomes, rate }: StreamResults): Record<string, string> {
  const heads = ["", ...outcomes.map(({ pipeline }) => pipeline.name)];
  const row = (what: string, of: (outcome: Outcome) => string) => [what, ...outcomes.map(of)];
  const whole = (value: number) => Math.round(value).toLocaleString("en");
  const ms = (values: readonly number[]) => withQuartiles(spreadOf(values), whole, " ms");
  return {
    "streams-machine":
      `${run}; reports of ${String(IMPRESSIONS)}, ` +
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

/** The value below which this share of the values lies. */
function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
}

async function main(): Promise<void> {
  print("compiling seenguard-server");
  const program = await buildService("release");
  const run = await describeRun();
  const [redis, broker] = [await startRedis(), await startKafka()];
  print("filling the chains");
  const filling = [
    "--redis",
    redis.url,
    "--namespace",
    namespaceOf("{user}"),
    ...chainFlags(recommended),
    "--log",
    "warn",
  ];
  const service = await startService(program, filling);
  await fillUsers(service.url, effort.users);
  await service.stop();
  const pipelines = [await Pipeline.start(program, redis, broker), await Pipeline.start(program, redis)];
  const outcomes = pipelines.map((pipeline): Outcome => ({ pipeline, full: [], paced: [] }));
  const work = reportsOf(effort.users);
  await measure(outcomes, work, new Redis(redis.url));
  const tables = tablesOf({ run, outcomes, rate: rateOf(outcomes) });
  console.log(Object.values(tables).join("\n\n"));
  if (values.readme === true) await writeTables(tables, ["docs/scale.md", "docs/streams.md"]);
  await Promise.all(pipelines.map((pipeline) => pipeline.stop()));
  await Promise.all([redis.stop(), broker.stop()]);
}

async function measure(outcomes: readonly Outcome[], work: Work, chains: Redis): Promise<void> {
  const inTurns = [...outcomes];
  for (const { pipeline } of inTurns) await pipeline.fullSpeed(work, effort.reports / 2); // warm
  for (let turn = 0; turn < effort.turns; turn++, inTurns.reverse())
    for (const { pipeline, full } of inTurns) {
      print(`${pipeline.name}: as fast as it goes`);
      full.push(await pipeline.fullSpeed(work, effort.reports));
    }
  const rate = rateOf(outcomes);
  for (let turn = 0; turn < effort.turns; turn++, inTurns.reverse())
    for (const { pipeline, paced } of inTurns) {
      print(`${pipeline.name}: ${String(rate)} a second`);
      paced.push(await pipeline.paced(work, rate, effort.seconds, chains));
    }
  chains.disconnect();
}

/** Half of the slower one's rate. */
function rateOf(outcomes: readonly Outcome[]): number {
  const medians = outcomes.map(({ full }) => spreadOf(full.map((turn) => turn.reportsPerSecond)).median);
  return Math.floor(Math.min(...medians) / 2);
}

if (process.platform !== "linux") throw new Error("this benchmark reads processor times from /proc, which needs Linux");
// The servers end when this process exits, and it exits in order.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
await main();
