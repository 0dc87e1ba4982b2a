/**
 * Two versions of a service with other parameters, in turn on one user: each seals the newest shard of the other, until
 * the list is as long as a list may be.
 */
import { ShardChain } from "seenguard/server";
import { WINDOW_DAYS, idsOfDay, readUpToNow, type Sizes } from "./chains.ts";

export interface Deploy {
  /** By the two versions together, since the first of the other version. */
  readonly updates: number;
  readonly shards: number;
  /** Of what the user had read in the window, how much is still known. */
  readonly known: number;
}

const USER = 1;
const IMPRESSIONS_AN_UPDATE = 10;

export async function deployInTurns(sizes: Sizes, updates: readonly number[]): Promise<Deploy[]> {
  const versions = [{ ...sizes, capacity: sizes.capacity + 1 }, sizes];
  let chain = await ShardChain.create(sizes);
  readUpToNow(chain, { name: "", days: WINDOW_DAYS }, USER);
  const read = Array.from({ length: WINDOW_DAYS }, (_, day) => idsOfDay(USER, day + 1)).flat();
  const steps: Deploy[] = [];
  for (let update = 1; update <= Math.max(...updates); update++) {
    const stored = chain.snapshot();
    chain.free();
    chain = await ShardChain.from(stored, versions[(update - 1) % 2]);
    chain.record(idsOfDay(USER, -update, IMPRESSIONS_AN_UPDATE));
    if (!updates.includes(update)) continue;
    const known = read.length - chain.filter(read).length;
    steps.push({ updates: update, shards: chain.snapshot().shards.length, known: known / read.length });
  }
  chain.free();
  return steps;
}
