/**
 * What the server does with one person's shards, wherever they are stored: read them for a request, change them.
 *
 * A store keeps a list of texts, newest shard first, and beside it what was taken back and when the history was
 * deleted. Nothing else is ever stored: no counter, no lock. The environment's SHARD_FORMAT says what the texts are,
 * the same for every server and consumer of a deployment: native shards, or the records of a Go service that was there
 * before.
 */
import { createHash } from "node:crypto";
import { ShardChain, type ChainOptions, type ErrorCode, type Snapshot } from "seenguard/server";

/** For how long the demo remembers what a person has seen: the same 30 days as the guard in the page. */
const WINDOW_SECONDS = 30 * 24 * 60 * 60;

type ShardSizes = Required<Pick<ChainOptions, "capacity" | "shards" | "falsePositiveRate">>;

/** One set for the whole deployment. Small shards: what is new on a refresh is in the newest one alone. */
const SHARD_SIZES: ShardSizes = { capacity: 250, shards: 20, falsePositiveRate: 0.00025 };

/** Those of the Go service's records. */
const RECORD_SIZES: ShardSizes = { capacity: 1000, shards: 5, falsePositiveRate: 0.001 };

export const CHAIN_OPTIONS = optionsOfFormat();

/** A chain whose shards were also sealed by time holds at most twice as many. */
export const MOST_ELEMENTS = 2 * CHAIN_OPTIONS.shards;

/**
 * From its last change on, what is stored of a person is of no use after the window and the slice by which a shard
 * outlives it.
 */
export const EXPIRES_AFTER_SECONDS = Math.ceil(WINDOW_SECONDS * (1 + 1 / (CHAIN_OPTIONS.shards - 1)));

/** What a format can keep: records have no expiry, so their list forgets by capacity, and as a whole. */
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

/** What a store holds of a person. */
export type StoredSeen = Pick<Snapshot, "unseen" | "forgetBefore"> & {
  /** Newest first. */
  readonly shards: readonly string[];
};

export const NOTHING_SEEN: StoredSeen = { shards: [] };

/** A stored element that is no shard. */
export interface Unreadable {
  readonly index: number;
  readonly code: ErrorCode;
}

/** What a person's chain does with what is stored. */
export type Change = (chain: ShardChain) => void;

/** The outcome of a change. */
export interface ChangedSeen {
  /** As it should be stored now; what was unreadable is no longer in it. */
  readonly seen: StoredSeen;
  readonly unreadable: readonly Unreadable[];
}

/** Applies a change to what is stored. */
export async function changed(stored: StoredSeen, change: Change): Promise<ChangedSeen> {
  return withChain(stored, (chain) => {
    change(chain);
    const { shards, unseen, forgetBefore } = chain.snapshot();
    const seen = { shards, ...(unseen && { unseen }), ...(forgetBefore !== undefined && { forgetBefore }) };
    return { seen, unreadable: [...chain.rejected] };
  });
}

/** Gives `use` the chain of what is stored, and frees it afterwards. */
export async function withChain<T>(stored: StoredSeen, use: (chain: ShardChain) => T): Promise<T> {
  const chain = await ShardChain.from(stored, CHAIN_OPTIONS);
  try {
    return use(chain);
  } finally {
    chain.free();
  }
}

/**
 * Names what is stored: every change of it gives another name. The snapshot's version does not do: it does not grow
 * when something is taken back, and records have none. Every change of the list changes its first element or its
 * length.
 */
export function stateOf({ shards, unseen, forgetBefore }: StoredSeen): string {
  const text = JSON.stringify([shards.length, shards[0], unseen, forgetBefore]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
