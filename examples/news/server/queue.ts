/** What readers' devices report waits in a Redis stream until the worker takes it. */
import type { Redis } from "ioredis";

const STREAM = "reports";
const GROUP = "worker";
const MOST = 1_000_000;
const BLOCK_MS = 2_000;

export async function enqueue<T>(redis: Redis, account: string, report: T): Promise<void> {
  await redis.xadd(STREAM, "MAXLEN", "~", MOST, "*", account, JSON.stringify(report));
}

/** Passes on one report after the other, each until `take` has succeeded. */
export async function consume<T>(redis: Redis, take: (account: string, report: T) => Promise<unknown>): Promise<never> {
  const blocking = redis.duplicate();
  await blocking.xgroup("CREATE", STREAM, GROUP, "0", "MKSTREAM").catch(() => "it exists");
  // First what a worker before had begun with.
  for (let from = "0"; ; ) {
    const entries = await next(blocking, from);
    if (entries.length === 0) from = ">";
    for (const [id, [account = "", report = ""]] of entries) {
      await take(account, JSON.parse(report) as T);
      await redis.xack(STREAM, GROUP, id);
    }
  }
}

async function next(redis: Redis, from: string): Promise<[id: string, fields: string[]][]> {
  const read = await redis.xreadgroup("GROUP", GROUP, "only", "COUNT", 100, "BLOCK", BLOCK_MS, "STREAMS", STREAM, from);
  const [stream] = (read ?? []) as [string, [string, string[]][]][];
  return stream?.[1] ?? [];
}
