/** The chain of a person in the demo: its options, and its use in a request. */
import type { ChainOptions, ShardChain } from "seenguard/server";
import { digestOf } from "./catalogue.ts";

/**
 * One set for the whole deployment: `npx seenguard plan --per-day 150 --window-days 30 --rate 0.005`. The window is the
 * same 30 days as that of the guard in the page.
 */
export const CHAIN_OPTIONS = {
  capacity: 281,
  shards: 20,
  falsePositiveRate: 0.00025,
  ttlSeconds: 30 * 24 * 60 * 60,
} satisfies ChainOptions;

/** Passes the chain that a back end has read to `use`, and frees it afterwards. */
export async function withChain<T>(reading: Promise<ShardChain>, use: (chain: ShardChain) => T): Promise<Awaited<T>> {
  const chain = await reading;
  try {
    return await use(chain);
  } finally {
    chain.free();
  }
}

/**
 * The name of a chain's state, which every change changes. The snapshot's version does not suffice: it does not grow when
 * an id becomes unseen. Every change of the list changes its first element or its length.
 */
export function stateOf(chain: ShardChain): Promise<string> {
  const { shards, unseen, forgetBefore } = chain.snapshot();
  return digestOf(JSON.stringify([shards.length, shards[0], unseen, forgetBefore]), 16);
}
