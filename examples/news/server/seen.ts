/** What readers have seen: everything that the server does with Seenguard, but for the routes. */
import type { Request } from "express";
import type { Redis } from "ioredis";
import { pageOf, redisStore, type Report } from "seenguard/server";
import { idsOf } from "../shared/seen.ts";
import type { Story } from "../shared/story.ts";

const PAGE_SIZE = 12;
const THIRTY_DAYS = 30 * 86_400;

export function seenStories(redis: Redis) {
  const store = redisStore(redis, { capacity: 250, shards: 20, falsePositiveRate: 0.00025, ttlSeconds: THIRTY_DAYS });
  return {
    /** A page of ranked stories for this request. `seen`: what becomes of those that the account has seen. */
    async pageFor(account: string, request: Request, ranked: readonly Story[], seen: "drop" | "last") {
      const chain = await store.read(account);
      const { cursor, held, pending } = request.query as Record<string, string | undefined>;
      const page = pageOf(chain, ranked, { id: idsOf, size: PAGE_SIZE, seen, cursor, held, pending });
      chain.free();
      return page;
    },
    take: (account: string, report: Report) =>
      store.update(account, (chain) => chain.take(report, { now: report.now / 1000 })),
    forget: (account: string) => store.update(account, (chain) => chain.forget()),
  };
}
