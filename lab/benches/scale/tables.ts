/** The results as tables of docs/scale.md, by the names of their regions. */
import { tableOf } from "../tables.ts";
import { FULL, HALF } from "./chains.ts";
import type { UserMemory } from "./memory.ts";
import type { Cost } from "./operations.ts";
import { needsOf, type Load, type Machines, type Measured, type Needs } from "./sizing.ts";
import type { Weight, WireBytes } from "./wire.ts";

export interface ScaleResults {
  /** The commit and the machine. */
  readonly run: string;
  readonly redisVersion: string;
  readonly memory: readonly UserMemory[];
  readonly fragmentation: number;
  readonly costs: readonly Cost[];
  readonly wire: readonly WireBytes[];
  readonly report: { readonly impressions: number; readonly bytes: number };
}

/** The example of docs/scale.md: its assumptions. */
export const LOAD: Load = {
  users: 1e8,
  activeShare: 0.5,
  impressionsPerDay: 200,
  peakFactor: 3,
  impressionsPerUpdate: 10,
  impressionsPerRefresh: 10,
  firstShare: 0.05,
  replicas: 1,
};
export const MACHINES: Machines = { nodeBytes: 64e9, memoryShare: 0.6, coreShare: 0.5 };

export function tablesOf(results: ScaleResults): Record<string, string> {
  const { run, redisVersion, memory, fragmentation, costs, wire, report } = results;
  const versions = `Redis ${redisVersion}, Node ${process.versions.node}`;
  return {
    "scale-machine": `${run}; ${versions}.`,
    "scale-memory": tableOf(
      ["a user's chain", "shards", "base64", "B: with key and tables"],
      memory.map(({ age, shards, characters, usedMemory }) => [
        age,
        shards.toFixed(1),
        ...[characters, usedMemory].map(bytes),
      ]),
    ),
    "scale-fragmentation": `**f = ${fragmentation.toFixed(2)}**`,
    "scale-operations": tableOf(
      ["one operation", "Node", "Redis", "to Redis", "from Redis", "to a replica"],
      costs.map((cost) => [
        cost.name,
        ...[cost.nodeMicroseconds, cost.redisMicroseconds].map((time) => `${time.toFixed(0)} µs`),
        ...[cost.bytesIn, cost.bytesOut, cost.bytesReplicated].map(bytes),
      ]),
    ),
    "scale-wire": tableOf(
      ["`snapshot` of a response", "first page", "brotli", "a refresh", "brotli", "`Seen-Held`"],
      wire.map(({ age, first, refresh, held }) => [age, ...[first, refresh].flatMap(weights), bytes(held)]),
    ),
    "scale-report": `A report of ${String(report.impressions)} impressions is a body of **${bytes(report.bytes)}**.`,
    "scale-needs": tableOf(
      ["", "chains half full", "chains full"],
      rowsOf([HALF.name, FULL.name].map((age) => needsOf(LOAD, MACHINES, measuredOf(results, age)))),
    ),
  };
}

/** The measured costs of a chain of this age. */
function measuredOf({ memory, fragmentation, costs, wire, report }: ScaleResults, age: string): Measured {
  const user = found(memory.find((each) => each.age === age));
  const onWire = found(wire.find((each) => each.age === age));
  const update = found(costs.find(({ name }) => name === `\`update\` of ${String(LOAD.impressionsPerUpdate)}`));
  const page = found(costs.at(-1));
  return {
    bytesPerUser: user.usedMemory,
    fragmentation,
    redisUpdate: update.redisMicroseconds,
    redisPage: page.redisMicroseconds,
    nodeUpdate: update.nodeMicroseconds,
    nodePage: page.nodeMicroseconds,
    bytesUpdate: update.bytesIn + update.bytesOut,
    bytesPage: page.bytesIn + page.bytesOut,
    bytesImpression: report.bytes / report.impressions,
    bytesFirst: onWire.first.brotli,
    bytesRefresh: onWire.refresh.brotli,
  };
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a measurement is missing");
  return value;
}

const ROWS: readonly (readonly [string, (needs: Needs) => string])[] = [
  ["impressions a second, I", ({ impressionsPerSecond }) => whole(impressionsPerSecond)],
  ["updates a second, u", ({ updatesPerSecond }) => whole(updatesPerSecond)],
  ["pages a second, v", ({ pagesPerSecond }) => whole(pagesPerSecond)],
  ["memory of masters and replicas, M", ({ memory }) => `${(memory / 1e12).toFixed(2)} TB`],
  ["busy cores of Redis", ({ redisCores }) => redisCores.toFixed(1)],
  ["busy cores of Node", ({ nodeCores }) => nodeCores.toFixed(0)],
  ["reports into the stream", ({ streamBytesPerSecond }) => rate(streamBytesPerSecond)],
  ["between Node and Redis", ({ redisBytesPerSecond }) => rate(redisBytesPerSecond)],
  ["to the devices, brotli", ({ deviceBytesPerSecond }) => rate(deviceBytesPerSecond)],
  ["partitions of the stream", ({ partitions }) => whole(partitions)],
  ["Redis nodes, with replicas", ({ redisNodes }) => whole(redisNodes)],
  ["Node processes that answer pages", ({ servers }) => whole(servers)],
  ["Node processes that consume", ({ consumers }) => whole(consumers)],
];

const rowsOf = (needs: readonly Needs[]) => ROWS.map(([title, of]) => [title, ...needs.map(of)]);

const weights = ({ plain, brotli }: Weight) => [plain, brotli].map(bytes);
const whole = (value: number) => Math.round(value).toLocaleString("en");
const bytes = (value: number) => `${whole(value)} B`;
const rate = (value: number) => `${(value / 1e6).toFixed(0)} MB/s`;
