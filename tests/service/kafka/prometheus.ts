/** Prometheus over the metrics of local processes, with the alert rules of docs/. */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { endWithUs, freePort } from "../../../scripts/lib/processes.mjs";
import { programs } from "../../../scripts/lib/programs.mjs";
import { until } from "../../support/processes.ts";

export const RULES = inProject("docs", "seenguard-alerts.yml");
export const rules = readFileSync(RULES, "utf8");
export const alertNames = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? "");

/** Its start and its responses. */
const PATIENCE_MS = 10_000;

export interface RunningPrometheus {
  /** The field `data` of its HTTP API at `/api/v1/<path>`. */
  ask(path: string, parameters?: Record<string, string>): Promise<unknown>;
  stop(): Promise<void>;
}

/** Resolves when it is ready. It scrapes the URLs of each job every second. */
export async function startPrometheus(jobs: Readonly<Record<string, readonly string[]>>): Promise<RunningPrometheus> {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-prometheus-"));
  const config = join(directory, "prometheus.yml");
  const scraped = Object.entries(jobs).map(([name, urls]) => ({
    job_name: name,
    static_configs: [{ targets: urls.map((url) => new URL(url).host) }],
  }));
  const often = { scrape_interval: "1s", evaluation_interval: "1s" };
  // JSON is YAML, too.
  await writeFile(config, JSON.stringify({ global: often, rule_files: [RULES], scrape_configs: scraped }));
  const address = `127.0.0.1:${String(await freePort())}`;
  const flags = {
    "config.file": config,
    "storage.tsdb.path": join(directory, "data"),
    "web.listen-address": address,
    "log.level": "error",
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const server = spawn(programs.prometheus.find() ?? "prometheus", args, { stdio: ["ignore", "ignore", "inherit"] });
  const { stop } = endWithUs(server);
  const get = (path: string) => fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  await until("Prometheus is ready", async () => {
    if (server.exitCode !== null) throw new Error("Prometheus ended before it was ready");
    return get("/-/ready").then(
      ({ ok }) => ok,
      () => false,
    );
  });
  return {
    ask: async (path, parameters = {}) => {
      const answer = await get(`/api/v1/${path}?${new URLSearchParams(parameters).toString()}`);
      const { status, data, error } = (await answer.json()) as { status: string; data: unknown; error?: string };
      if (status !== "success") throw new Error(`${JSON.stringify(parameters)}: ${String(error)}`);
      return data;
    },
    stop: async () => {
      await stop("SIGKILL");
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Runs Prometheus's own tool. */
export function promtool(args: readonly string[], input = ""): { status: number | null; said: string } {
  const { status, stdout, stderr, error } = spawnSync(programs.promtool.find() ?? "promtool", args, {
    input,
    encoding: "utf8",
  });
  if (error) throw error;
  return { status, said: stdout + stderr };
}
