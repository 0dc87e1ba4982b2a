/** What a server's run is judged by, and its table. */
import type { Histogram } from "hdr-histogram-js";
import { none, type Check } from "../checks.ts";
import { PARTS, type Memory } from "./deployment.ts";
import type { ServerOutcome } from "./soak.ts";

export function checksOf(outcome: ServerOutcome): Check[] {
  const { load, lost, kills, options, acknowledged } = outcome;
  return [
    none("acknowledged and lost", lost),
    none("answers that no kill explains", load.unexpected),
    none("shown again on either device", load.repeats),
    {
      what: "pages leave out what the other device has shown",
      isMet: load.leftOut > 0,
      found: `${count(load.leftOut)} items`,
      isAsserted: true,
    },
    {
      what: "each part was killed",
      isMet: PARTS.every((part) => kills.get(part) === options.kills),
      found: [...kills].map(([part, times]) => `${part} ${String(times)} times`).join(", "),
      isAsserted: true,
    },
    {
      what: "every reader reports something",
      isMet: [...load.acknowledged().values()].every(({ size }) => size > 0),
      found: `${count(acknowledged)} impressions of ${count(options.users)} readers`,
      isAsserted: true,
    },
  ];
}

/** Rows of the table: what, and how much. */
export function rowsOf(outcome: ServerOutcome): [string, string][] {
  const { load, options, acknowledged, lost, restarts, memory, fsync } = outcome;
  const requests = load.calm.totalCount + load.disturbed.totalCount + load.reports.totalCount;
  const over = (part: keyof Memory) => {
    // A part that was just killed has none.
    const bytes = memory.map((at) => at[part]).filter((bytes) => bytes > 0);
    return [bytes[0], bytes[Math.floor(bytes.length / 2)], bytes.at(-1)].map((at) => megabytes(at ?? 0)).join(", ");
  };
  return [
    ["readers at once; minutes", `${count(options.users)}; ${String(options.minutes)}`],
    ["requests; a second", `${count(requests)}; ${(requests / (options.minutes * 60)).toFixed(0)}`],
    ["a page, all parts running: median, p99, longest", timesOf(load.calm)],
    ["a page, a part killed or just started: median, p99, longest", timesOf(load.disturbed)],
    ["a report: median, p99, longest", timesOf(load.reports)],
    ["requests that failed and were tried again", count(load.failed)],
    ["impressions acknowledged; of these lost", `${count(acknowledged)}; ${String(lost.length)}`],
    ...PARTS.map((part): [string, string] => [
      `${part} killed; ready again after`,
      `${String(restarts.get(part)?.length ?? 0)} times; ${(restarts.get(part) ?? []).map(seconds).join(", ")}`,
    ]),
    ["memory of the server: begin, middle, end", over("server")],
    ["memory of the consumer", over("consumer")],
    ["memory of Redis", over("redis")],
    ["append-only file", over("appendOnlyFile")],
    ...fsync.map(({ policy, reportsPerSecond, times }): [string, string] => [
      `\`appendfsync ${policy}\`: reports a second; median, p99, longest`,
      `${reportsPerSecond.toFixed(0)}; ${timesOf(times)}`,
    ]),
  ];
}

const count = (value: number): string => value.toLocaleString("en");
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;

/** Of microseconds. */
function timesOf(times: Histogram): string {
  if (times.totalCount === 0) return "none";
  const ms = (value: number) => `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} ms`;
  return [times.getValueAtPercentile(50), times.getValueAtPercentile(99), times.maxValue].map(ms).join(", ");
}
