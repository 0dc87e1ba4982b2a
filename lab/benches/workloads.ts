/** The workloads, in the current runtime: Node and Chromium load the same bundle. */
import { candidatesOf, itemsOf, shortIds } from "./ids.ts";
import { measure, type Contender, type Effort, type Measured } from "./measure.ts";
import { type Client, type Peer, peers, usualPeers } from "./peers.ts";

interface Workload {
  readonly name: string;
  readonly title: string;
  /** The number of seen shards, and of ids in each. */
  readonly shards: number;
  readonly idsAShard: number;
  /** The number of candidates to filter; 0: applying the message is measured instead. */
  readonly candidates: number;
  /** The repetitions of one sample, since short work is below the clock's resolution. */
  readonly repeats: number;
  /** Whether all contenders take part, not only the usual ones. */
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

/** The highest acceptable share of stopped fresh ids: each shard's rate, and a margin for chance. */
const mostWrong = (shards: number) => 0.015 + 0.001 * shards;

export interface Outcome {
  readonly workload: string;
  readonly title: string;
  readonly measured: readonly Measured[];
}

export async function runSuite(effort: Effort, print: (line: string) => void): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const workload of workloads) {
    print(workload.title);
    outcomes.push(await measurePeers(workload, workload.everyone === true ? peers : usualPeers, effort));
  }
  return outcomes;
}

async function measurePeers(workload: Workload, chosen: readonly Peer[], effort: Effort): Promise<Outcome> {
  const { name, title, repeats } = workload;
  return { workload: name, title, measured: await measure(await contendersOf(workload, chosen), repeats, effort) };
}

/** Makes a contender of each peer, with clients of its own, after checking its answers. */
async function contendersOf(workload: Workload, peers: readonly Peer[]): Promise<Contender[]> {
  return Promise.all(peers.map((peer) => contender(workload, peer)));
}

async function contender(workload: Workload, peer: Peer): Promise<Contender> {
  const { shards, idsAShard, candidates } = workload;
  // The seeds of pages are below those of shards.
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
 * Filters other items each time, parsed from JSON as in a feed: strings that were hashed before are found faster, and
 * the branch predictor learns the answers of a repeated page.
 */
function filtering(client: Client, { candidates }: Workload, seen: readonly string[]): Contender["prepare"] {
  let seed = 7;
  return () => {
    const items = itemsOf(candidatesOf(seen, candidates, shortIds, (seed += 2)));
    return () => client.fresh(items);
  };
}

/** Applies another message each time, so that none of its shards is known already. */
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
  if (fresh.some(({ id }) => seen.has(id))) throw new Error(`${name} lets seen ids through`);
  if (fresh.length < unseen * (1 - mostWrong(shards))) throw new Error(`${name} stops too many fresh ids`);
}
