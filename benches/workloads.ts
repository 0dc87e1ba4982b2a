/** What is measured. To add a workload, add an entry. */
import { candidatesOf, shortIds } from "./ids.ts";
import type { Contender } from "./measure.ts";
import type { Client, Peer } from "./peers.ts";

export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly makeIds: typeof shortIds;
  /** How many shards of how many ids were seen. */
  readonly shards: number;
  readonly idsAShard: number;
  /** How many candidates are filtered; 0: what is measured is taking the message. */
  readonly candidates: number;
  /** How often that is done in one sample: short work is lost in the clock's resolution. */
  readonly repeats: number;
}

const fiveShards = { makeIds: shortIds, shards: 5, idsAShard: 1000 } as const;

export const workloads: readonly Workload[] = [
  { ...fiveShards, name: "filter-2000", title: "filter 2,000 ids", candidates: 2000, repeats: 1 },
  { ...fiveShards, name: "filter-20", title: "filter 20 ids, one page", candidates: 20, repeats: 50 },
  { ...fiveShards, name: "apply", title: "take 5 full shards from JSON", candidates: 0, repeats: 1 },
];

/** The share of fresh ids that may be stopped: 5 shards at 0.001 each, and chance. */
const MOST_WRONG = 0.02;

/** One contender a peer, each with clients of its own, once it has shown that it answers rightly. */
export async function contendersOf(workload: Workload, peers: readonly Peer[]): Promise<Contender[]> {
  const lists = [1, 2].map((seed) => shardsOf(workload, seed * 1000));
  const seen = lists[0]?.flat() ?? [];
  const pages = pagesOf(workload, seen);
  return Promise.all(
    peers.map(async (peer) => {
      const messages = await Promise.all(lists.map((shards) => peer.message(shards)));
      const client = await peer.client();
      const [message = ""] = messages;
      client.take(message);
      check(peer.name, client, candidatesOf(seen, 2000, workload.makeIds, 8), new Set(seen));
      return {
        name: peer.name,
        prepare: workload.candidates > 0 ? filtering(client, pages) : taking(client, messages),
      };
    }),
  );
}

function shardsOf({ shards, idsAShard, makeIds }: Workload, seed: number): string[][] {
  return Array.from({ length: shards }, (_, shard) => makeIds(idsAShard, seed + shard));
}

/** So many lists of candidates that a short one, too, is a new one for long. */
function pagesOf({ candidates, makeIds }: Workload, seen: readonly string[]): string[][] {
  if (candidates === 0) return [];
  return Array.from({ length: Math.ceil(4000 / candidates) }, (_, page) =>
    candidatesOf(seen, candidates, makeIds, 7 + page),
  );
}

/** Every time the ids come fresh out of JSON, as in a feed: a text that was hashed before is found more quickly. */
function filtering(client: Client, pages: readonly (readonly string[])[]): Contender["prepare"] {
  const responses = pages.map((page) => JSON.stringify(page));
  let turn = 0;
  return () => {
    turn++;
    const ids = JSON.parse(responses[turn % responses.length] ?? "[]") as string[];
    return () => client.fresh(ids);
  };
}

/** Every time another message than the last, so that nothing of it is held already. */
function taking(client: Client, messages: readonly string[]): Contender["prepare"] {
  let turn = 0;
  return () => {
    turn++;
    const message = messages[turn % messages.length] ?? "";
    return () => {
      client.take(message);
    };
  };
}

function check(name: string, client: Client, candidates: readonly string[], seen: ReadonlySet<string>): void {
  const fresh = client.fresh(candidates);
  const unseen = candidates.filter((id) => !seen.has(id)).length;
  if (fresh.some((id) => seen.has(id))) throw new Error(`${name} lets through what was seen`);
  if (fresh.length < unseen * (1 - MOST_WRONG)) throw new Error(`${name} stops what was not seen`);
}
