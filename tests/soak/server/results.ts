/** What a server's run is judged by, and its table. */
import { loadChecksOf, type Check } from "../checks.ts";
import { count, megabytes, seconds, timesOf } from "../format.ts";
import { PARTS, type Memory } from "./deployment.ts";
import type { ServerOutcome } from "./soak.ts";

export function checksOf(outcome: ServerOutcome): Check[] {
  const { load, leftOut, lost, kills, options } = outcome;
  return [
    ...loadChecksOf(load, lost),
    {
      what: "pages leave out what the other device has shown",
      isMet: leftOut > 0,
      found: `${count(leftOut)} items`,
      isAsserted: true,
    },
    {
      what: "each part was killed",
      isMet: PARTS.every((part) => kills.get(part) === options.kills),
      found: [...kills].map(([part, times]) => `${part} ${String(times)} times`).join(", "),
      isAsserted: true,
    },
  ];
}

/** Rows of the table: what, and how much. */
export function rowsOf(outcome: ServerOutcome): [string, string][] {
  const { load, disturbed, options, acknowledged, lost, restarts, memory, fsync } = outcome;
  const requests = load.calm.totalCount + disturbed.totalCount + load.reports.totalCount;
  const over = (part: keyof Memory) => {
    // A part that was just killed has none.
    const bytes = memory.map((at) => at[part]).filter((bytes) => bytes > 0);
    return [bytes[0], bytes[Math.floor(bytes.length / 2)], bytes.at(-1)].map((at) => megabytes(at ?? 0)).join(", ");
  };
  return [
    ["readers at once; minutes", `${count(options.users)}; ${String(options.minutes)}`],
    ["requests; a second", `${count(requests)}; ${(requests / (options.minutes * 60)).toFixed(0)}`],
    ["a page, all parts running: median, p99, longest", timesOf(load.calm)],
    ["a page, a part killed or just started: median, p99, longest", timesOf(disturbed)],
    ["a report: median, p99, longest", timesOf(load.reports)],
    ["requests that failed and were tried again", count(load.failed)],
    ["pages that were degraded; shown again there", `${count(load.degraded.pages)}; ${count(load.degraded.repeats)}`],
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
