/**
 * What the server does with one person's shards, wherever they are stored: read them for a request, record into them.
 *
 * A store keeps a list of texts, newest shard first. Nothing else is ever stored: no counter, no lock. The
 * environment's SHARD_FORMAT says what the texts are, the same for every server and consumer of a deployment: native
 * shards, or the records of a Go service that was there before.
 */
import { ShardChain, type ChainOptions, type ErrorCode } from "seenguard/server";

/** For how long the demo remembers what a person has seen: the same 30 days as the guard in the page. */
const WINDOW_SECONDS = 30 * 24 * 60 * 60;

/** Full shards, with the newest. */
const SHARDS = 5;

/** One set for the whole deployment; shards with equal parameters are what the guard in the page is fastest with. */
const CHAIN_OPTIONS: ChainOptions = { capacity: 1000, shards: SHARDS, falsePositiveRate: 0.001, ...optionsOfFormat() };

/** A chain whose shards were also sealed by time holds at most twice as many. */
export const MOST_ELEMENTS = 2 * SHARDS;

/**
 * From its last change on, a person's list is of no use after the window and the slice by which a shard outlives it.
 */
export const EXPIRES_AFTER_SECONDS = Math.ceil(WINDOW_SECONDS * (1 + 1 / (SHARDS - 1)));

/** What a format can keep: records have no expiry, so their list forgets by capacity, and as a whole. */
function optionsOfFormat(): ChainOptions {
  switch (process.env.SHARD_FORMAT ?? "") {
    case "":
    case "seenguard":
      return { ttlSeconds: WINDOW_SECONDS };
    case "go-bloomfilter":
      return { format: { kind: "go-bloomfilter" } };
    default:
      throw new Error(`SHARD_FORMAT is ${String(process.env.SHARD_FORMAT)}: it must be seenguard or go-bloomfilter`);
  }
}

/** A stored element that is no shard. */
export interface Unreadable {
  readonly index: number;
  readonly code: ErrorCode;
}

/** The outcome of recording ids into a stored list. */
export interface RecordedShards {
  /** The list as it should be now, newest first; what was unreadable is no longer in it. */
  readonly shards: readonly string[];
  /** Ids that no live shard contained before. */
  readonly added: number;
  readonly unreadable: readonly Unreadable[];
}

/** Records ids into the list as it was stored. */
export async function recordInto(stored: readonly string[], ids: readonly string[]): Promise<RecordedShards> {
  return withChain(stored, (chain) => {
    const added = chain.record(ids);
    return { shards: chain.snapshot().shards, added, unreadable: [...chain.rejected] };
  });
}

/** Gives `use` the chain that the list holds, and frees it afterwards. */
export async function withChain<T>(stored: readonly string[], use: (chain: ShardChain) => T): Promise<T> {
  const chain = await ShardChain.from(stored, CHAIN_OPTIONS);
  try {
    return use(chain);
  } finally {
    chain.free();
  }
}
