/**
 * A consumer of the stream `impressions`, in a process of its own: `consumer.ts PORT NAME CLIENT`. It may be killed at
 * any moment. `CLIENT`, "ioredis" or "node-redis", is the store's client.
 */
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { redisStore, type Impression } from "seenguard/server";
import { CHAIN, GROUP, STREAM } from "./nodes.ts";

type Entry = [id: string, fields: string[]];

const [port = "", name = "", client = ""] = process.argv.slice(2);
const url = `redis://127.0.0.1:${port}`;
const stream = new Cluster([url], { slotsRefreshTimeout: 10_000 });
const store = redisStore(
  client === "ioredis" ? stream : await createCluster({ rootNodes: [{ url }] }).connect(),
  CHAIN,
);

// First the entries that this consumer got before it was killed.
for (let from = "0"; ;) {
  const read = await stream.xreadgroup(
    "GROUP",
    GROUP,
    name,
    ...(["COUNT", 20, "BLOCK", 500, "STREAMS", STREAM, from] as const),
  );
  const entries = (read as [string, Entry[]][] | null)?.[0]?.[1] ?? [];
  if (entries.length === 0) from = ">";
  else await take(entries);
}

/** One update for each user; acknowledged when all are stored. */
async function take(entries: readonly Entry[]): Promise<void> {
  const shown = new Map<string, Impression[]>();
  for (const [, [, user = "", , id = "", , at]] of entries)
    shown.set(user, [...(shown.get(user) ?? []), { id, at: Number(at) }]);
  for (const [user, impressions] of shown) {
    await store.ingest(user, { namespace: user, receivedAt: Date.now(), impressions, unseen: [] });
  }
  const ids = entries.map(([id]) => id);
  await stream
    .multi()
    .xack(STREAM, GROUP, ...ids)
    .xdel(STREAM, ...ids)
    .exec();
  console.log(ids.length);
}
