/**
 * Reports by way of Kafka, with a broker of its own, and of a Redis Stream, into the same users' chains:
 * `npm run bench -- --streams`. They are asked in turns; `--readme` also writes the tables into docs/, and
 * `--smoke` hardly asks anything.
 */
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { startKafka } from "../../../scripts/lib/kafka.mjs";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { buildService, chainFlags, startService } from "../../../scripts/lib/service.mjs";
import { writeTables } from "../../../scripts/lib/tables.mjs";
import { describeRun } from "../machine.ts";
import { recommended } from "../scale/chains.ts";
import { spreadOf } from "../statistics.ts";
import { fillUsers, reportsOf, type Work } from "./load.ts";
import { Pipeline } from "./pipelines.ts";
import { tablesOf, type Outcome } from "./stream-tables.ts";
import { namespaceOf } from "./users.ts";

const { values } = parseArgs({ options: { smoke: { type: "boolean" }, readme: { type: "boolean" } } });
/** More users than a consumer takes reports in at once: so of each it has one. */
const effort =
  values.smoke === true
    ? { turns: 1, reports: 2_000, seconds: 1, users: 20 }
    : { turns: 5, reports: 10_000, seconds: 10, users: 1_000 };

const say = (line: string) => {
  console.error(`  ${line}`);
};

async function main(): Promise<void> {
  say("compiling seenguard-server");
  const program = await buildService("release");
  const [redis, broker] = [await startRedis(), await startKafka()];
  say("filling the chains");
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
  const tables = tablesOf({ run: describeRun(), outcomes, rate: rateOf(outcomes) });
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
      say(`${pipeline.name}: as fast as it goes`);
      full.push(await pipeline.fullSpeed(work, effort.reports));
    }
  const rate = rateOf(outcomes);
  for (let turn = 0; turn < effort.turns; turn++, inTurns.reverse())
    for (const { pipeline, paced } of inTurns) {
      say(`${pipeline.name}: ${String(rate)} a second`);
      paced.push(await pipeline.paced(work, rate, effort.seconds, chains));
    }
  chains.disconnect();
}

/** Half of what the slower one does. */
function rateOf(outcomes: readonly Outcome[]): number {
  const medians = outcomes.map(({ full }) => spreadOf(full.map((turn) => turn.reportsPerSecond)).median);
  return Math.floor(Math.min(...medians) / 2);
}

if (process.platform !== "linux") throw new Error("this reads processor times as Linux tells them");
// The servers end when this process exits, and it exits in order.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
await main();
