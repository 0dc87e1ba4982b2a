/** The alert rules of docs/ over what a service and a consumer tell Prometheus, judged by Prometheus's own tool. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inProject } from "../../scripts/lib/paths.mjs";
import { programs } from "../../scripts/lib/programs.mjs";
import { buildService, startService, type RunningService } from "../../scripts/lib/service.mjs";
import { startRedis, type RunningRedis } from "../demo/processes.ts";
import { until } from "../waiting.ts";

const RULES = inProject("docs", "seenguard-alerts.yml");

let redis: RunningRedis;
/** A service and a consumer. */
let running: RunningService[];
beforeAll(async () => {
  const program = await buildService();
  redis = await startRedis();
  const common = ["--redis", redis.url, "--namespace", "home:{user}", "--stream", "reports", "--log", "warn"];
  running = [await startService(program, common), await startService(program, ["consume", "--name", "one", ...common])];
}, 900_000);
afterAll(async () => {
  await Promise.all(running.map((one) => one.stop()));
  await redis.stop();
});

const promtool = (args: readonly string[], input = "") => {
  const { status, stdout, stderr, error } = spawnSync(programs.promtool.find() ?? "promtool", args, {
    input,
    encoding: "utf8",
  });
  if (error) throw error;
  return { status, said: stdout + stderr };
};

async function scrapes(): Promise<string[]> {
  return Promise.all(running.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
}

async function post(route: string, body: object): Promise<void> {
  const answer = await fetch(`${String(running[0]?.url)}/v1/users/${route}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  expect(answer.ok, await answer.text()).toBe(true);
}

/** Has the numbers counted that are none before something happens. */
async function use(): Promise<void> {
  const now = Date.now();
  await redis.client.lpush("seen:bob", "no shard");
  await post("bob/page", { ranked: ["a"], size: 1 });
  await post("ada/impressions", { namespace: "home:ada", now, impressions: [{ id: "a", at: now }] });
  await until("the report is in its history", async () =>
    (await scrapes()).some((text) => /^seenguard_lag_seconds_count [1-9]/m.test(text)),
  );
}

test("Prometheus takes the rules, and each metric and route that they name is there", async () => {
  const { status, said } = promtool(["check", "rules", RULES]);
  expect(status, said).toBe(0);
  await use();
  const rules = readFileSync(RULES, "utf8");
  const told = (await scrapes()).join("\n");
  const named = [...rules.matchAll(/seenguard_\w+|\broute="[^"]*"/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(10);
  expect([...new Set(named)].filter((name) => !told.includes(name))).toEqual([]);
});

test("Prometheus finds nothing to mend in what they tell", async () => {
  for (const text of await scrapes()) expect(promtool(["check", "metrics"], text)).toEqual({ status: 0, said: "" });
});
