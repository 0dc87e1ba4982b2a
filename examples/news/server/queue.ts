/** A queue in a Redis stream. A message stays until the worker has processed it. */
import { redis } from "./redis.ts";

const STREAM = "queue";
const GROUP = "workers";
const MAX_MESSAGES = 1_000_000;
const BLOCK_MS = 2_000;

export async function enqueue<T>(account: string, message: T): Promise<void> {
  await redis.xadd(STREAM, "MAXLEN", "~", MAX_MESSAGES, "*", account, JSON.stringify(message));
}

/** Calls `handle` with one message after the other, and acknowledges each once `handle` has succeeded. */
export async function consume<T>(handle: (account: string, message: T) => Promise<unknown>): Promise<never> {
  const blocking = redis.duplicate();
  await blocking.xgroup("CREATE", STREAM, GROUP, "0", "MKSTREAM").catch(() => "it exists");
  const next = async (from: string) => {
    const group = ["GROUP", GROUP, "worker", "COUNT", 100, "BLOCK", BLOCK_MS] as const;
    const read = await blocking.xreadgroup(...group, "STREAMS", STREAM, from);
    const [stream] = (read ?? []) as [string, [id: string, fields: string[]][]][];
    return stream?.[1] ?? [];
  };
  // First the messages that an earlier worker has not acknowledged.
  for (let from = "0"; ;) {
    const entries = await next(from);
    if (entries.length === 0) from = ">";
    for (const [id, [account = "", message = ""]] of entries) {
      await handle(account, JSON.parse(message) as T);
      await redis.xack(STREAM, GROUP, id);
    }
  }
}
