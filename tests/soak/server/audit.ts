/** Whether everything that was acknowledged is in the users' chains, as the server ships them. */
import { setTimeout as pause } from "node:timers/promises";
import { ShardChain, type Snapshot } from "seenguard/server";
import { IMPRESSIONS, UNDER_WAY } from "../../../www/server/redis/layout.ts";
import type { Deployment } from "./deployment.ts";

const POLL_MS = 500;
/** For the stream to deliver what is in it. */
const DRAIN_MS = 300_000;
const AT_ONCE = 20;

/** Resolves when no impression is under way any more. */
export async function streamIsDrained({ redis: { client } }: Deployment): Promise<void> {
  const deadline = performance.now() + DRAIN_MS;
  for (;;) {
    const [underWay, inStream] = await Promise.all([client.scard(UNDER_WAY), client.xlen(IMPRESSIONS)]);
    if (underWay === 0 && inStream === 0) return;
    if (performance.now() > deadline)
      throw new Error(
        `the stream still holds ${String(inStream)} impressions, and those of ${String(underWay)} people`,
      );
    await pause(POLL_MS);
  }
}

/**
 * The acknowledged ids that no chain contains, as `user id`. A chain's false positives hide a lost id at the rate of
 * the filter, here at most 0.5%.
 */
export async function lostIds(url: string, acknowledged: ReadonlyMap<string, ReadonlySet<string>>): Promise<string[]> {
  const users = [...acknowledged];
  const lost: string[] = [];
  const auditNext = async (): Promise<void> => {
    for (let next = users.pop(); next !== undefined; next = users.pop()) {
      const [user, ids] = next;
      lost.push(...(await missing(url, user, [...ids])).map((id) => `${user} ${id}`));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, auditNext));
  return lost;
}

async function missing(url: string, user: string, ids: readonly string[]): Promise<string[]> {
  const response = await fetch(`${url}/api/users/${user}/status`);
  if (!response.ok) throw new Error(`the status of ${user}: ${String(response.status)}`);
  const { seen } = (await response.json()) as { seen: Snapshot };
  const chain = await ShardChain.from(seen);
  try {
    return chain.filter(ids);
  } finally {
    chain.free();
  }
}
