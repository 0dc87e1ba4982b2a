/** `pageOf`: a page of a ranked list. The engine selects its items and makes the cursor. */
import { readGiven, refuse } from "../errors.js";
import { isFunction } from "../input/options.js";
import type { IdOf, Page, PageOptions, ShardChain, Snapshot } from "../types/server.js";
import { serverClock, timeRule } from "./call-options.js";
import { checkPage, pageRules } from "./page-request.js";
import type { ShardChain as Chain } from "./shard-chain.js";

export function pageOf<T>(
  chain: ShardChain,
  ranked: readonly T[],
  options: PageOptions & { id?: IdOf<T> },
): Page<T> & { snapshot: Snapshot } {
  readGiven("bad-option", "the chain of pageOf", () => {
    if (!isFunction((chain as Partial<Chain> | null | undefined)?.page)) refuse("pageOf takes a chain: is it awaited?");
  });
  const request = checkPage<T>("pageOf", ranked, options, { ...pageRules, now: timeRule });
  return (chain as Chain).page(ranked, request, request.now ?? serverClock()) as Page<T> & { snapshot: Snapshot };
}
