/** How the demo keeps what a person has seen: the chain's options, and what a request does with a chain. */
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

/** Gives `use` the chain that a back end has read, and frees it afterwards. */
export async function withChain<T>(reading: Promise<ShardChain>, use: (chain: ShardChain) => T): Promise<Awaited<T>> {
  const chain = await reading;
  try {
    return await use(chain);
  } finally {
    chain.free();
  }
}

/**
 * Names a chain's state: every change of it gives another name. The snapshot's version does not do: it does not grow
 * when something becomes unseen. Every change of the list changes its first element or its length.
 */
export function stateOf(chain: ShardChain): Promise<string> {
  const { shards, unseen, forgetBefore } = chain.snapshot();
  return digestOf(JSON.stringify([shards.length, shards[0], unseen, forgetBefore]), 16);
}
