/** Messages that wait in a Redis stream until the worker has dealt with them. */
import { redis } from "./redis.ts";

const STREAM = "queue";
const GROUP = "workers";
const MOST = 1_000_000;
const BLOCK_MS = 2_000;

export async function enqueue<T>(account: string, message: T): Promise<void> {
  await redis.xadd(STREAM, "MAXLEN", "~", MOST, "*", account, JSON.stringify(message));
}

/** Passes on one message after the other. Each is off the queue once `handle` has succeeded. */
export async function consume<T>(handle: (account: string, message: T) => Promise<unknown>): Promise<never> {
  const blocking = redis.duplicate();
  await blocking.xgroup("CREATE", STREAM, GROUP, "0", "MKSTREAM").catch(() => "it exists");
  const next = async (from: string) => {
    const group = ["GROUP", GROUP, "worker", "COUNT", 100, "BLOCK", BLOCK_MS] as const;
    const read = await blocking.xreadgroup(...group, "STREAMS", STREAM, from);
    const [stream] = (read ?? []) as [string, [id: string, fields: string[]][]][];
    return stream?.[1] ?? [];
  };
  // First what a worker before had begun with.
  for (let from = "0"; ;) {
    const entries = await next(from);
    if (entries.length === 0) from = ">";
    for (const [id, [account = "", message = ""]] of entries) {
      await handle(account, JSON.parse(message) as T);
      await redis.xack(STREAM, GROUP, id);
    }
  }
}
