/** A guard whose table is full: 10,000 impressions of its own beside the server's five shards. */
import { SeenGuard, type Snapshot } from "seenguard";
import { candidatesOf, itemsOf, shortIds } from "./ids.ts";
import type { Contender } from "./measure.ts";
import { peers } from "./peers.ts";

const SHARDS = Array.from({ length: 5 }, (_, seed) => shortIds(1000, seed));
const IMPRESSIONS = shortIds(10_000, 99);
const SEEN = [...SHARDS.flat(), ...IMPRESSIONS];
const IDS_A_RECORD = 10;

export const impressionWorkloads = [
  { name: "own-filter-20", title: "filter 20 ids", contenders: () => filtering(20), repeats: 50 },
  { name: "own-filter-2000", title: "filter 2,000 ids", contenders: () => filtering(2000), repeats: 1 },
  { name: "own-record", title: "record 10 ids", contenders: recording, repeats: 10 },
] as const;

/** A quarter of the candidates was seen, here or by the server. */
async function filtering(count: number): Promise<Contender[]> {
  const [full, empty] = await Promise.all([openGuard(IMPRESSIONS), openGuard([])]);
  const seen = new Set(SEEN);
  const contender = (name: string, fresh: (items: { id: string }[]) => unknown): Contender => {
    let seed = 7;
    return {
      name,
      prepare: () => {
        const items = itemsOf(candidatesOf(SEEN, count, shortIds, (seed += 2)));
        return () => fresh(items);
      },
    };
  };
  return [
    contender("10,000 impressions", (items) => full.filter(items)),
    contender("none", (items) => empty.filter(items)),
    contender("instead: Set of all ids", (items) => items.filter(({ id }) => !seen.has(id))),
  ];
}

/** New ids every time: the table drops the oldest, the Set grows. */
async function recording(): Promise<Contender[]> {
  const guard = await openGuard(IMPRESSIONS);
  const seen = new Set(SEEN);
  const contender = (name: string, record: (ids: string[]) => unknown): Contender => {
    let seed = 1_000_000;
    return {
      name,
      prepare: () => {
        const ids = itemsOf(shortIds(IDS_A_RECORD, seed++)).map(({ id }) => id);
        return () => record(ids);
      },
    };
  };
  return [
    contender("10,000 impressions", (ids) => guard.record(ids)),
    contender("instead: Set of all ids", (ids) => {
      for (const id of ids) seen.add(id);
    }),
  ];
}

async function openGuard(impressions: readonly string[]): Promise<SeenGuard> {
  // So many cannot all be pending, which is reported.
  const onError = () => undefined;
  const guard = await SeenGuard.open({ namespace: `bench:${String(Math.random())}`, storage: "none", onError });
  guard.apply(JSON.parse((await peers[0]?.message(SHARDS)) ?? "") as Snapshot);
  guard.record(impressions);
  return guard;
}
