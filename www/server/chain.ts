/**
 * How the demo keeps what a person has seen: the chain's options, and what a request does with a chain.
 *
 * The environment's SHARD_FORMAT says what the shards are, the same for every server and consumer of a deployment:
 * native ones, or the records of a Go service that was there before.
 */
import { createHash } from "node:crypto";
import type { ChainOptions, SeenStore, ShardChain } from "seenguard/server";

/** For how long the demo remembers what a person has seen: the same 30 days as the guard in the page. */
export const WINDOW_SECONDS = 30 * 24 * 60 * 60;

type ShardSizes = Required<Pick<ChainOptions, "capacity" | "shards" | "falsePositiveRate">>;

/** One set for the whole deployment: `npx seenguard plan --per-day 150 --window-days 30 --rate 0.005`. */
const SHARD_SIZES: ShardSizes = { capacity: 281, shards: 20, falsePositiveRate: 0.00025 };

/** Those of the Go service's records. */
const RECORD_SIZES: ShardSizes = { capacity: 1000, shards: 5, falsePositiveRate: 0.001 };

export const CHAIN_OPTIONS = optionsOfFormat();

/** What a format can keep: records have no expiry, so their list forgets by capacity alone. */
function optionsOfFormat(): ChainOptions & ShardSizes {
  switch (process.env.SHARD_FORMAT ?? "") {
    case "":
    case "seenguard":
      return { ...SHARD_SIZES, ttlSeconds: WINDOW_SECONDS };
    case "go-bloomfilter":
      return { ...RECORD_SIZES, format: { kind: "go-bloomfilter" } };
    default:
      throw new Error(`SHARD_FORMAT is ${String(process.env.SHARD_FORMAT)}: it must be seenguard or go-bloomfilter`);
  }
}

/** A stored element that is no shard. */
export interface Unreadable {
  readonly index: number;
  readonly reason: string;
}

/** Changes what is stored of a person. Returns the elements that were no shards; they are gone afterwards. */
export function changeSeen(
  store: SeenStore,
  user: string,
  change: (chain: ShardChain) => void,
): Promise<readonly Unreadable[]> {
  return store.update(user, (chain) => {
    change(chain);
    return [...chain.rejected];
  });
}

/** Gives `use` the chain that a store has read, and frees it afterwards. */
export async function withChain<T>(reading: Promise<ShardChain>, use: (chain: ShardChain) => T): Promise<T> {
  const chain = await reading;
  try {
    return use(chain);
  } finally {
    chain.free();
  }
}

/**
 * Names a chain's state: every change of it gives another name. The snapshot's version does not do: it does not grow
 * when something becomes unseen, and records have none. Every change of the list changes its first element or its
 * length.
 */
export function stateOf(chain: ShardChain): string {
  const { shards, unseen, forgetBefore } = chain.snapshot();
  const text = JSON.stringify([shards.length, shards[0], unseen, forgetBefore]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
