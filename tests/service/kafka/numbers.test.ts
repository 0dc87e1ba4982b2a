/**
 * The metrics of a service and a consumer, over Kafka and over a stream of Redis: a real Prometheus scrapes them, and
 * evaluates the alert rules and the dashboard of docs/.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startKafka, type RunningKafka } from "../../../scripts/lib/kafka.mjs";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { startRedis, type RunningRedis } from "../../../scripts/lib/redis.mjs";
import { buildService, startService, type RunningService } from "../../../scripts/lib/service.mjs";
import { until } from "../../support/processes.ts";
import { makeTempDirectory } from "../languages/tools.ts";
import { TOPIC } from "./deployment.ts";
import { alertNames, promtool, rules, startPrometheus, type RunningPrometheus } from "./prometheus.ts";

const PARTITIONS = 3;

const queries = dashboardQueries();

let redis: RunningRedis;
let broker: RunningKafka;
let prometheus: RunningPrometheus;
let overKafka: { service: RunningService; consumer: RunningService };
const directory = makeTempDirectory();
const running: RunningService[] = [];
beforeAll(async () => {
  const program = await buildService();
  [redis, broker] = await Promise.all([startRedis(), startKafka()]);
  await broker.createTopic(TOPIC, PARTITIONS);
  const start = async (args: readonly string[], namespace = "home:{user}") => {
    const common = ["--redis", redis.url, "--namespace", namespace, "--log", "error"];
    const service = await startService(program, [...args, ...common]);
    running.push(service);
    return service;
  };
  const streams = [
    ["--stream", "reports"],
    ["--kafka", broker.address, "--kafka-topic", TOPIC],
  ];
  const services = await Promise.all(streams.map((stream) => start(stream)));
  const consumers = await Promise.all(streams.map((stream) => start(["consume", "--name", "one", ...stream])));
  const [[, second], [, reader]] = [services, consumers];
  if (second === undefined || reader === undefined) throw new Error("there is one of each for each stream");
  overKafka = { service: second, consumer: reader };
  // Its reports are of a namespace that the consumer of the same topic refuses.
  const stranger = await start(["--prefix", "other:", ...(streams[1] ?? [])], "other:{user}");
  prometheus = await startPrometheus({
    seenguard: services.map(({ url }) => url),
    "seenguard-consumers": consumers.map(({ url }) => url),
  });
  await until("all is scraped", async () => (await values("sum(up)"))[0] === 4);
  for (const service of services) {
    await post(service, "ada/page", { ranked: ["a"], size: 1 });
    await post(service, "ada/impressions", reportOf("home:ada"));
  }
  await post(stranger, "ada/impressions", reportOf("other:ada"));
});
afterAll(async () => {
  await prometheus.stop();
  await Promise.all(running.map((each) => each.stop("SIGKILL")));
  await Promise.all([broker.stop(), redis.stop()]);
  directory.remove();
});

function dashboardQueries(): string[] {
  const dashboard = JSON.parse(readFileSync(inProject("docs", "seenguard-dashboard.json"), "utf8")) as {
    panels: { targets: { expr: string }[] }[];
  };
  return dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}

function reportOf(namespace: string) {
  const now = Date.now();
  return { namespace, now, impressions: [{ id: "a", at: now }] };
}

async function post(service: RunningService, route: string, body: object): Promise<void> {
  const answer = await fetch(`${service.url}/v1/users/${route}`, { method: "POST", body: JSON.stringify(body) });
  expect(answer.ok, await answer.text()).toBe(true);
}

/** The current result of a query. */
async function values(query: string): Promise<number[]> {
  const { result } = (await prometheus.ask("query", { query })) as { result: { value: [number, string] }[] };
  return result.map(({ value }) => Number(value[1]));
}

test("each query of the dashboard has a result", async () => {
  expect(queries.length).toBeGreaterThan(20);
  for (const query of queries) await until(query, async () => (await values(query)).length > 0);
});

/** Resolves when an alert with these labels fires. */
async function fires(expected: Readonly<Record<string, string>>): Promise<void> {
  await until(`the alert ${JSON.stringify(expected)} fires`, async () => {
    const { alerts } = (await prometheus.ask("alerts")) as { alerts: { labels: Record<string, string> }[] };
    return alerts.some(({ labels }) => Object.entries(expected).every(([name, value]) => labels[name] === value));
  });
}

test("Prometheus evaluates the rules, and the one for dead letters fires", async () => {
  await fires({ alertname: "SeenguardDeadLetters", code: "wrong-namespace" });
  const { groups } = (await prometheus.ask("rules")) as {
    groups: { rules: { name: string; health: string; lastError?: string }[] }[];
  };
  const all = groups.flatMap((group) => group.rules);
  expect(all.map(({ name }) => name)).toEqual(alertNames);
  expect(all.filter(({ health }) => health !== "ok")).toEqual([]);
});

test("each metric, route and kind in docs/ exists", async () => {
  const pages = ["service.md", "streams.md"].map((name) => readFileSync(inProject("docs", name), "utf8"));
  const texts = [rules, ...pages, ...queries];
  const named = (pattern: RegExp) =>
    new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map((found) => found[1])));
  for (const [label, pattern, least] of [
    ["__name__", /\b(seenguard_[a-z]\w*\w)\b/g, 25],
    ["route", /\broute="([^"]*)"/g, 2],
    ["kind", /\bkind="([^"]*)"/g, 1],
  ] as const) {
    const there = new Set((await prometheus.ask(`label/${label}/values`)) as string[]);
    const all = [...named(pattern)];
    expect(all.length).toBeGreaterThanOrEqual(least);
    // A histogram has no series of its own name.
    expect(all.filter((name) => !there.has(`${name}`) && !there.has(`${name}_bucket`))).toEqual([]);
  }
});

test("records that are deleted before a running consumer reads them are counted, and the alert fires", async () => {
  const { service, consumer } = overKafka;
  consumer.process.kill("SIGSTOP");
  // In the meantime its pending request ends without records.
  await pause(1_000);
  await post(service, "ada/impressions", reportOf("home:ada"));
  const file = join(directory.path, "offsets.json");
  const toTheEnd = (partition: number) => ({ topic: TOPIC, partition, offset: -1 });
  const partitions = Array.from({ length: PARTITIONS }, (_, partition) => toTheEnd(partition));
  writeFileSync(file, JSON.stringify({ version: 1, partitions }));
  await broker.tool("DeleteRecordsCommand", "--offset-json-file", file);
  consumer.process.kill("SIGCONT");
  await until("it is counted", async () => (await values("sum(seenguard_kafka_resets_total)"))[0] === 1);
  await fires({ alertname: "SeenguardKafkaRecordsLost" });
  // It continues after them.
  const before = (await values(`sum(seenguard_reports_total{job="seenguard-consumers"})`))[0] ?? 0;
  await post(service, "ada/impressions", reportOf("home:ada"));
  await until("the next report is applied", async () => {
    const [now = 0] = await values(`sum(seenguard_reports_total{job="seenguard-consumers"})`);
    return now > before;
  });
});

test("promtool accepts the metrics", async () => {
  for (const { url } of running) {
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(promtool(["check", "metrics"], text)).toEqual({ status: 0, said: "" });
  }
});
