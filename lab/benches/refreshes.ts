/** A refresh for a device that holds the sealed shards: shipped as references to them, or once more in full. */
import { SeenGuard, type Snapshot } from "seenguard";
import { shortIds } from "./ids.ts";
import type { Contender } from "./measure.ts";
import { fullChain, shardSizes } from "./shard-sizes.ts";

/** Of the newest shard, in a chain of 5 × 1000. */
const HALF_FULL = 500;
const IMPRESSIONS_A_REFRESH = 10;

type Kind = "references" | "in full";

export const refreshWorkloads = [
  {
    name: "refresh-apply",
    title: "`apply` a refresh from JSON, 4 of 5 shards held",
    contenders: () => Promise.all((["references", "in full"] as const).map(contender)),
    repeats: 10,
  },
] as const;

/** What a server sends then. */
export async function refreshMessages(): Promise<Readonly<Record<Kind, string>>> {
  const [references, full] = await Promise.all([refreshesOf("references"), refreshesOf("in full")]);
  return { references: references.messages[0], "in full": full.messages[0] };
}

async function contender(kind: Kind): Promise<Contender> {
  const { guard, messages } = await refreshesOf(kind);
  let turn = 0;
  return {
    name: kind,
    prepare: () => {
      const message = messages[++turn % 2] ?? "";
      return () => {
        if (!guard.apply(JSON.parse(message) as Snapshot).applied) throw new Error("a refresh was not taken");
      };
    },
  };
}

/** A guard, and two refreshes for it in turn: each has another newest shard. */
async function refreshesOf(kind: Kind): Promise<{ guard: SeenGuard; messages: [string, string] }> {
  const chain = await fullChain(shardSizes[0]);
  const guard = await SeenGuard.open({ namespace: `bench:${String(Math.random())}`, storage: "none" });
  chain.record(shortIds(HALF_FULL, 2));
  guard.apply({ shards: chain.snapshot().shards });
  const refresh = (seed: number) => {
    chain.record(shortIds(IMPRESSIONS_A_REFRESH, seed));
    const { shards } = chain.snapshot(kind === "references" ? { held: guard.headers()["Seen-Held"] ?? "" } : {});
    return JSON.stringify({ shards });
  };
  const messages: [string, string] = [refresh(3), refresh(4)];
  chain.free();
  return { guard, messages };
}
