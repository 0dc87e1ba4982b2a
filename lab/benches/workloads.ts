/** What is measured. To add a workload, add an entry. */
import { candidatesOf, itemsOf, shortIds, snowflakes, uuids } from "./ids.ts";
import type { Contender } from "./measure.ts";
import type { Client, Peer } from "./peer.ts";
import { guardAlone } from "./peers.ts";
import { newUrls, seenUrls } from "./urls.ts";

/** Where ids come from: those that were seen, and those that were not. */
interface Kind {
  readonly seen: typeof shortIds;
  readonly fresh: typeof shortIds;
}

export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly kind: Kind;
  /** How many shards of how many ids were seen. Several: the guard is measured against itself with each. */
  readonly shards: number | readonly number[];
  readonly idsAShard: number;
  /** How many candidates are filtered; 0: what is measured is taking the message. */
  readonly candidates: number;
  /** How often that is done in one sample: short work is lost in the clock's resolution. */
  readonly repeats: number;
  /** Whether all peers take part, and not only the usual ones. */
  readonly everyone?: boolean;
}

const short: Kind = { seen: shortIds, fresh: shortIds };
const twoThousand = { kind: short, shards: 5, idsAShard: 1000, candidates: 2000, repeats: 1 } as const;

/** The names are what the bars and results.json know them by. */
export const workloads: readonly Workload[] = [
  { ...twoThousand, name: "filter-2000", title: "filter 2,000 ids", everyone: true },
  { ...twoThousand, name: "filter-20", title: "filter 20 ids, one page", candidates: 20, repeats: 50, everyone: true },
  { ...twoThousand, name: "filter-200", title: "filter 200 ids", candidates: 200, repeats: 5 },
  { ...twoThousand, name: "filter-20000", title: "filter 20,000 ids", candidates: 20_000 },
  {
    ...twoThousand,
    name: "numbers",
    title: "filter 2,000 numbers of 19 digits",
    kind: { seen: snowflakes, fresh: snowflakes },
  },
  { ...twoThousand, name: "uuids", title: "filter 2,000 UUIDs", kind: { seen: uuids, fresh: uuids } },
  { ...twoThousand, name: "urls", title: "filter 2,000 URLs", kind: { seen: seenUrls, fresh: newUrls } },
  { ...twoThousand, name: "32-shards", title: "filter 2,000 ids, 32 shards", shards: 32 },
  { ...twoThousand, name: "growth", title: "filter 2,000 ids, guards of", shards: [1, 2, 4, 8, 16, 32, 64] },
  { ...twoThousand, name: "apply", title: "take 5 full shards from JSON", candidates: 0 },
];

/** The share of fresh ids that may be stopped: each shard's rate, and chance. */
const mostWrong = (shards: number) => 0.015 + 0.001 * shards;

/** One contender a peer, each with clients of its own, once it has shown that it answers rightly. */
export async function contendersOf(workload: Workload, peers: readonly Peer[]): Promise<Contender[]> {
  if (typeof workload.shards === "number") {
    return Promise.all(peers.map((peer) => contender(workload, workload.shards as number, peer, peer.name)));
  }
  const sizes = workload.shards.map((shards) =>
    guardAlone.map((peer) =>
      contender(workload, shards, peer, `${String(shards)} ${shards === 1 ? "shard" : "shards"}`),
    ),
  );
  return Promise.all(sizes.flat());
}

async function contender(workload: Workload, shards: number, peer: Peer, name: string): Promise<Contender> {
  const { kind, idsAShard, candidates } = workload;
  // Seeds of pages are smaller than those of shards.
  const lists = [10_000, 20_000].map((first) =>
    Array.from({ length: shards }, (_, shard) => kind.seen(idsAShard, first + shard)),
  );
  const seen = lists[0]?.flat() ?? [];
  const messages = await Promise.all(lists.map((list) => peer.message(list)));
  const client = await peer.client();
  const [message = ""] = messages;
  client.take(message);
  check(`${peer.name} (${workload.title})`, client, candidatesOf(seen, 2000, kind.fresh, 8), new Set(seen), shards);
  return {
    name,
    prepare: candidates > 0 ? filtering(client, workload, seen) : taking(client, messages),
  };
}

/**
 * Every time other items, fresh out of JSON as in a feed: a text that was hashed before is found more quickly, and a
 * processor learns the answers of a page that comes often.
 */
function filtering(client: Client, { candidates, kind }: Workload, seen: readonly string[]): Contender["prepare"] {
  let seed = 7;
  return () => {
    const items = itemsOf(candidatesOf(seen, candidates, kind.fresh, (seed += 2)));
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
