/** A refresh for a device that holds the sealed shards: shipped as references to them, or once more in full. */
import { SeenGuard } from "seenguard";
import { shortIds } from "./ids.ts";
import { fullChain, shardSizes } from "./shard-sizes.ts";

/** Of the newest shard, in a chain of 5 × 1000. */
const HALF_FULL = 500;
const IMPRESSIONS_A_REFRESH = 10;

type Kind = "references" | "in full";

/** The server's response. */
export async function refreshMessages(): Promise<Readonly<Record<Kind, string>>> {
  const [references, full] = await Promise.all([refreshOf("references"), refreshOf("in full")]);
  return { references, "in full": full };
}

async function refreshOf(kind: Kind): Promise<string> {
  const chain = await fullChain(shardSizes[0]);
  const guard = await SeenGuard.open({ namespace: `bench:${String(Math.random())}`, storage: "none" });
  chain.record(shortIds(HALF_FULL, 2));
  guard.apply({ shards: chain.snapshot().shards });
  chain.record(shortIds(IMPRESSIONS_A_REFRESH, 3));
  const { shards } = chain.snapshot(kind === "references" ? { held: guard.headers()["Seen-Held"] ?? "" } : {});
  chain.free();
  await guard.close();
  return JSON.stringify({ shards });
}
