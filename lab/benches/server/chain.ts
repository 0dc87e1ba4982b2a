/**
 * What a server does with one user's stored shards, five that are full: it answers a page, or takes impressions in. The
 * guard of a page beside it takes the same shards and filters the same items.
 */
import { SeenGuard } from "seenguard";
import { ShardChain, type ChainOptions } from "seenguard/server";
import { candidatesOf, shortIds } from "../ids.ts";
import type { Contender } from "../measure.ts";

const SHARDS = 5;
const CANDIDATES = 2000;
/** Impressions that one update takes in. */
export const RECORDED = 10;
export const options: ChainOptions = { capacity: 1000, shards: SHARDS, falsePositiveRate: 0.001 };

/** Contenders' names. */
export const GUARD = "a guard's apply, filter";
export const REQUEST = "from, filter, snapshot";

const PAGES = 32;

interface Stored {
  readonly shards: readonly string[];
}

/** The names are what the bars know them by. The first contender is the one that the others are compared with. */
export const serverWorkloads = [
  {
    name: "server-request",
    title: "from the stored texts to a page of 2,000",
    repeats: 1,
    contenders: async () => [await request(), await guard()],
  },
  {
    name: "server-update",
    title: "from the stored texts to those to store",
    repeats: 1,
    contenders: async () => [await update(), await request()],
  },
];

/** The ids of the shards of two users. */
const users = [10_000, 20_000].map((seed) => shortIds(SHARDS * 1000, seed));
const storedTexts = () => Promise.all(users.map(store));

async function store(ids: readonly string[]): Promise<string> {
  const chain = await ShardChain.create(options);
  chain.record(ids);
  const { shards } = chain.snapshot();
  chain.free();
  if (shards.length !== SHARDS) throw new Error(`a chain has ${String(shards.length)} shards`);
  return JSON.stringify({ shards });
}

/** In turns: what each of the users has stored, and a page of items for one who has seen a quarter of them. */
async function turns(): Promise<() => { stored: Stored; page: { id: string }[] }> {
  const texts = await storedTexts();
  const pages = Array.from({ length: PAGES }, (_, page) => {
    const candidates = candidatesOf(users[page % users.length] ?? [], CANDIDATES, shortIds, 7 + 2 * page);
    return JSON.stringify(candidates.map((id) => ({ id })));
  });
  let turn = 0;
  return () => {
    turn++;
    return {
      stored: JSON.parse(texts[turn % texts.length] ?? "") as Stored,
      page: JSON.parse(pages[turn % pages.length] ?? "") as { id: string }[],
    };
  };
}

function check(fresh: readonly unknown[]): void {
  const share = fresh.length / CANDIDATES;
  if (share < 0.73 || share > 0.75) throw new Error(`${String(fresh.length)} candidates of a page are fresh`);
}

async function request(): Promise<Contender> {
  const next = await turns();
  return {
    name: REQUEST,
    isAsync: true,
    prepare: () => {
      const { stored, page } = next();
      return async () => {
        const chain = await ShardChain.from(stored.shards, options);
        check(chain.filter(page));
        const shipped = chain.snapshot();
        chain.free();
        return shipped;
      };
    },
  };
}

async function guard(): Promise<Contender> {
  const next = await turns();
  const guard = await SeenGuard.open({ namespace: `bench:${String(Math.random())}`, storage: "none" });
  return {
    name: GUARD,
    prepare: () => {
      const { stored, page } = next();
      return () => {
        if (!guard.apply(stored).applied) throw new Error("these shards were not taken");
        check(guard.filter(page));
      };
    },
  };
}

async function update(): Promise<Contender> {
  const texts = await storedTexts();
  let seed = 0;
  return {
    name: "from, record 10 ids, snapshot",
    isAsync: true,
    prepare: () => {
      const ids = shortIds(RECORDED, seed++);
      const { shards } = JSON.parse(texts[seed % texts.length] ?? "") as Stored;
      return async () => {
        const chain = await ShardChain.from(shards, options);
        if (chain.record(ids) < RECORDED - 2) throw new Error("a chain knows ids that nobody has seen");
        const next = chain.snapshot();
        chain.free();
        return next;
      };
    },
  };
}
