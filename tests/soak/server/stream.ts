/** What the demo's server knows at the end: whether its stream is empty, and what each user has seen. */
import type { Snapshot } from "seenguard/server";
import { IMPRESSIONS, UNDER_WAY } from "../../../www/server/redis/layout.ts";
import { until } from "../../waiting.ts";
import type { Deployment } from "./deployment.ts";

/** For the stream to deliver what is in it. */
const DRAIN_MS = 300_000;

/** Resolves when no impression is under way any more. */
export async function streamIsDrained({ redis: { client } }: Deployment): Promise<void> {
  const isDrained = async () => {
    const [underWay, inStream] = await Promise.all([client.scard(UNDER_WAY), client.xlen(IMPRESSIONS)]);
    return underWay === 0 && inStream === 0;
  };
  await until("the stream has delivered what is in it", isDrained, DRAIN_MS);
}

export async function snapshotOf(url: string, user: string): Promise<Snapshot> {
  const response = await fetch(`${url}/api/users/${user}/status`);
  if (!response.ok) throw new Error(`the status of ${user}: ${String(response.status)}`);
  return ((await response.json()) as { snapshot: Snapshot }).snapshot;
}
