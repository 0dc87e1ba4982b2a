/**
 * What `appendfsync always` costs beside `everysec`: the same reports through the same server, as fast as it takes them,
 * with the setting changed in turns while Redis runs.
 */
import { build, type Histogram } from "hdr-histogram-js";
import type { Report } from "seenguard";
import type { Deployment } from "./deployment.ts";
import { userOf } from "../readers.ts";

export type Policy = "everysec" | "always";
const POLICIES: readonly Policy[] = ["everysec", "always"];
const TURNS = 3;
const CLIENTS = 32;
const IMPRESSIONS_EACH = 5;

export interface PolicyCost {
  readonly policy: Policy;
  readonly reportsPerSecond: number;
  /** Microseconds of a report. */
  readonly times: Histogram;
}

/** @param durationMs of all turns together */
export async function compareFsync(deployment: Deployment, users: number, durationMs: number): Promise<PolicyCost[]> {
  const turnMs = durationMs / (TURNS * POLICIES.length);
  const times = new Map(POLICIES.map((policy) => [policy, build({ numberOfSignificantValueDigits: 3 })]));
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [policy, histogram] of times) {
      await deployment.redis.client.config("SET", "appendfsync", policy);
      await reportFor(deployment.url, users, turnMs, histogram);
    }
  }
  await deployment.redis.client.config("SET", "appendfsync", "everysec");
  return [...times].map(([policy, histogram]) => ({
    policy,
    reportsPerSecond: histogram.totalCount / ((turnMs * TURNS) / 1000),
    times: histogram,
  }));
}

async function reportFor(url: string, users: number, durationMs: number, times: Histogram): Promise<void> {
  const end = performance.now() + durationMs;
  let number = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      const start = performance.now();
      await report(url, userOf(number++ % users), number);
      times.recordValue(Math.round((performance.now() - start) * 1000));
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function report(url: string, user: string, number: number): Promise<void> {
  const now = Date.now();
  const impressions = Array.from({ length: IMPRESSIONS_EACH }, (_, index) => ({
    id: `fsync-${String(number)}-${String(index)}`,
    at: now,
  }));
  const body: Report = { namespace: `home:${user}`, now, impressions };
  const response = await fetch(`${url}/api/users/${user}/impressions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`a report was answered ${String(response.status)}: ${await response.text()}`);
  await response.arrayBuffer();
}
