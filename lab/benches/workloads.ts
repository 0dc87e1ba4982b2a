/** The measured workloads, in the place where this runs: the same bundle in Node and in Chromium. */
import { candidatesOf, itemsOf, shortIds } from "./ids.ts";
import { measure, type Contender, type Effort, type Measured } from "./measure.ts";
import { type Client, type Peer, peers, usualPeers } from "./peers.ts";

interface Workload {
  readonly name: string;
  readonly title: string;
  /** How many shards of how many ids were seen. */
  readonly shards: number;
  readonly idsAShard: number;
  /** How many candidates are filtered; 0: what is measured is taking the message. */
  readonly candidates: number;
  /** How often that is done in one sample: short work is lost in the clock's resolution. */
  readonly repeats: number;
  /** Whether all peers take part, and not only the usual ones. */
  readonly everyone?: boolean;
}

const twoThousand = { shards: 5, idsAShard: 1000, candidates: 2000, repeats: 1 } as const;

/** The names are those of results.json. To add a workload, add an entry. */
const workloads: readonly Workload[] = [
  { ...twoThousand, name: "filter-2000", title: "filter 2,000 ids", everyone: true },
  { ...twoThousand, name: "filter-20", title: "filter 20 ids", candidates: 20, repeats: 50, everyone: true },
  { ...twoThousand, name: "32-shards", title: "filter 2,000 ids, 32 shards", shards: 32 },
  { ...twoThousand, name: "apply", title: "take 5 full shards from JSON", candidates: 0 },
];

/** The share of fresh ids that may be stopped: each shard's rate, and chance. */
const mostWrong = (shards: number) => 0.015 + 0.001 * shards;

export interface Outcome {
  readonly workload: string;
  readonly title: string;
  readonly measured: readonly Measured[];
}

export async function runSuite(effort: Effort, say: (line: string) => void): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const workload of workloads) {
    say(workload.title);
    outcomes.push(await measurePeers(workload, workload.everyone === true ? peers : usualPeers, effort));
  }
  return outcomes;
}

async function measurePeers(workload: Workload, chosen: readonly Peer[], effort: Effort): Promise<Outcome> {
  const { name, title, repeats } = workload;
  return { workload: name, title, measured: await measure(await contendersOf(workload, chosen), repeats, effort) };
}

/** One contender a peer, each with clients of its own, once it has shown that it answers rightly. */
async function contendersOf(workload: Workload, peers: readonly Peer[]): Promise<Contender[]> {
  return Promise.all(peers.map((peer) => contender(workload, peer)));
}

async function contender(workload: Workload, peer: Peer): Promise<Contender> {
  const { shards, idsAShard, candidates } = workload;
  // Seeds of pages are smaller than those of shards.
  const lists = [10_000, 20_000].map((first) =>
    Array.from({ length: shards }, (_, shard) => shortIds(idsAShard, first + shard)),
  );
  const seen = lists[0]?.flat() ?? [];
  const messages = await Promise.all(lists.map((list) => peer.message(list)));
  const client = await peer.client();
  const [message = ""] = messages;
  client.take(message);
  check(`${peer.name} (${workload.title})`, client, candidatesOf(seen, 2000, shortIds, 8), new Set(seen), shards);
  return {
    name: peer.name,
    prepare: candidates > 0 ? filtering(client, workload, seen) : taking(client, messages),
  };
}

/**
 * Every time other items, fresh out of JSON as in a feed: a text that was hashed before is found more quickly, and a
 * processor learns the answers of a page that comes often.
 */
function filtering(client: Client, { candidates }: Workload, seen: readonly string[]): Contender["prepare"] {
  let seed = 7;
  return () => {
    const items = itemsOf(candidatesOf(seen, candidates, shortIds, (seed += 2)));
    return () => client.fresh(items);
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

function check(
  name: string,
  client: Client,
  candidates: readonly string[],
  seen: ReadonlySet<string>,
  shards: number,
): void {
  const fresh = client.fresh(itemsOf(candidates));
  const unseen = candidates.filter((id) => !seen.has(id)).length;
  if (fresh.some(({ id }) => seen.has(id))) throw new Error(`${name} lets through what was seen`);
  if (fresh.length < unseen * (1 - mostWrong(shards))) throw new Error(`${name} stops what was not seen`);
}
