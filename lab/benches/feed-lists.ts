/** `Feed.filter` beside the guard's: a feed also keeps what it decided. */
import { SeenGuard, type Snapshot } from "seenguard";
import { candidatesOf, itemsOf, shortIds } from "./ids.ts";
import type { Contender } from "./measure.ts";
import { peers } from "./peers.ts";

const SHARDS = Array.from({ length: 5 }, (_, seed) => shortIds(1000, seed));

export const feedWorkloads = [
  { name: "feed-filter-20", title: "20 items", contenders: () => filtering(20), repeats: 50 },
  { name: "feed-filter-2000", title: "2,000 items", contenders: () => filtering(2000), repeats: 1 },
] as const;

async function filtering(count: number): Promise<Contender[]> {
  const guard = await SeenGuard.open({ namespace: `bench:${String(Math.random())}`, storage: "none" });
  guard.apply(JSON.parse((await peers[0]?.message(SHARDS)) ?? "") as Snapshot);
  const seen = SHARDS.flat();
  const contender = (name: string, prepare: (items: { id: string }[]) => () => unknown): Contender => {
    let seed = 7;
    return { name, prepare: () => prepare(itemsOf(candidatesOf(seen, count, shortIds, (seed += 2)))) };
  };
  return [
    contender("`SeenGuard.filter`", (items) => () => guard.filter(items)),
    contender("`Feed.filter`, a new list", (items) => {
      const feed = guard.feed();
      return () => feed.filter(items);
    }),
    contender("`Feed.filter`, the same list again", (items) => {
      const feed = guard.feed();
      feed.filter(items);
      return () => feed.filter(items);
    }),
  ];
}
