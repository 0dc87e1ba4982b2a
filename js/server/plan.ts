/** `plan`: the costs of a chain. */
import { checkAllOptions, positive, rate, REQUIRED, type Rules } from "../input/options.js";
import type * as Api from "../types/server.js";
import { call, serverEngine } from "./engine.js";

export type PlanOptions = Parameters<typeof Api.plan>[0];

/** The costs and parameters of a planned chain. */
export interface ChainCosts extends ReturnType<typeof Api.plan> {
  /** m of each shard. */
  readonly bits: number;
  /** k. */
  readonly hashes: number;
  /** The false positive rate after a user's first day. */
  readonly rateWhenYoung: number;
  readonly rateWhenFull: number;
}

const rules = {
  perDay: positive(REQUIRED),
  windowDays: positive(REQUIRED),
  falsePositiveRate: rate(REQUIRED),
  perRefresh: positive(10),
} satisfies Rules;

export function plan(options: PlanOptions): ReturnType<typeof Api.plan> {
  const { capacity, shards, falsePositiveRate, ttlSeconds, ...costs } = costsOf(options);
  const { bytesStored, bytesFirstPage, bytesRefresh } = costs;
  return { capacity, shards, falsePositiveRate, ttlSeconds, bytesStored, bytesFirstPage, bytesRefresh };
}

export function costsOf(options: PlanOptions): ChainCosts {
  const { perDay, windowDays, falsePositiveRate, perRefresh } = checkAllOptions("plan", options, rules) as Record<
    keyof typeof rules,
    number
  >;
  const engine = serverEngine();
  return call(engine, () => engine.classes.plan(perDay, windowDays, falsePositiveRate, perRefresh) as ChainCosts);
}
