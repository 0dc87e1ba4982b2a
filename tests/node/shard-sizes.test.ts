/** What a refresh costs on the wire: references stand for the shards that a device holds. */
import { describe, expect, test } from "vitest";
import { nameOf, shardSizes, weighShards, type ShardCosts } from "../../lab/benches/shard-sizes.ts";

const BYTES_A_REFRESH: Readonly<Record<string, number>> = { "5 × 1000": 2600, "20 × 250": 1100 };

describe.each(shardSizes.map((sizes) => [nameOf(sizes), sizes] as const))(
  "a session of 20 refreshes with 10 new impressions each, with full shards of %s",
  (name, sizes) => {
    let costs: Promise<ShardCosts> | undefined;
    const weigh = () => (costs ??= weighShards(sizes));

    test("brings a refresh that is much smaller than the whole list", async () => {
      const { whole, refresh, worst, unreferenced } = await weigh();
      expect(worst).toBeLessThanOrEqual(BYTES_A_REFRESH[name] ?? 1600);
      expect(worst).toBeGreaterThanOrEqual(refresh);
      expect(refresh).toBeLessThan(unreferenced / 5);
      expect(unreferenced).toBeLessThanOrEqual(whole);
    });

    test("sends up 13 characters for each shard that is held", async () => {
      expect((await weigh()).held).toBe(13 * sizes.shards - 1);
    });

    test("stops as many fresh items as shards of any other size", async () => {
      expect((await weigh()).falsePositiveRate).toBeGreaterThan(0.0043);
      expect((await weigh()).falsePositiveRate).toBeLessThan(0.0057);
    });
  },
);
