/**
 * The demo's promise, in a real browser and over each store: whatever the stream does, nothing comes back on the
 * guarded side.
 */
import { test } from "@playwright/test";
import { OVER_RUST, startDemo, startRedis, type RunningDemo, type RunningRedis } from "./processes.ts";
import { Reader, expect } from "./reader.ts";

/** While the stream stands still the stores have nothing to do, so that many refreshes over one of them are enough. */
const stores = [
  { name: "memory", kept: "in memory", inRedis: false, format: "seenguard", refreshes: 30 },
  { name: "redis", kept: "in Redis", inRedis: true, format: "seenguard", refreshes: 8 },
  {
    name: "records",
    kept: "in Redis as go-bloomfilter records",
    inRedis: true,
    format: "go-bloomfilter",
    refreshes: 8,
  },
];

for (const { name, kept, inRedis, format, refreshes } of stores) {
  /** What so many refreshes show at least, of whatever is counted: the feed brings more than three a refresh. */
  const many = 3 * refreshes;

  test.describe(`with what was seen kept ${kept}`, name === "redis" ? OVER_RUST : {}, () => {
    let redis: RunningRedis | undefined;
    let demo: RunningDemo;

    test.beforeAll(async () => {
      redis = inRedis ? await startRedis() : undefined;
      demo = await startDemo({ REDIS_URL: redis?.url ?? "", SHARD_FORMAT: format });
    });
    test.afterAll(async () => {
      await demo.stop();
      await redis?.stop();
    });

    /** All that the server's store holds is gone. */
    const flush = async (user: string): Promise<void> => {
      if (redis === undefined) await fetch(`${demo.url}api/users/${user}/flush`, { method: "POST" });
      else await redis.client.flushall();
    };

    /** What the store holds is what the server was told to keep. */
    const expectFormat = async (user: string): Promise<void> => {
      const elements = (await redis?.client.lrange(`seen:${user}`, 0, -1)) ?? [];
      expect(elements.length > 0).toBe(inRedis);
      for (const element of elements) expect(element).toMatch(format === "seenguard" ? /^U0dTMQ/ : /^[1-9]\d*::/);
    };

    test("nothing that was looked at comes back: not while the stream is stopped, nor later, nor from a flushed store", async ({
      page,
    }) => {
      test.setTimeout(240_000);
      const reader = new Reader(page, demo.url, `lag-${name}`);

      await test.step("the stream is stopped, and refreshes bring repeats to the unguarded feed alone", async () => {
        await reader.open();
        await reader.setStream(false);
        await reader.look();
        const repeats = await reader.refreshAndLook(refreshes);
        expect(repeats.guarded).toBe(0);
        expect(repeats.unguarded).toBeGreaterThan(many);
        expect(reader.seen.size).toBeGreaterThan(many);
        expect(await reader.counter("repeats-guarded")).toBe(0);
        expect(await reader.counter("repeats-unguarded")).toBeGreaterThan(many);
        expect(await reader.counter("stopped")).toBeGreaterThan(many);
        await reader.expectAllPending();
      });

      await test.step("a reload begins a new list without any, and the next one still has none", async () => {
        const seenBefore = new Set(reader.seen);
        await reader.reload();
        expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
        await reader.refresh();
        expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
        expect((await reader.repeats("unguarded", seenBefore)).length).toBeGreaterThan(0);
        await reader.look();
        expect((await reader.refreshAndLook(3)).guarded).toBe(0);
      });

      await test.step("the stream runs again, pending goes down to 0, and still nothing comes back", async () => {
        await reader.setLag(0);
        await reader.setStream(true);
        await reader.expectNothingPending();
        await expectFormat(reader.user);
        const seenBefore = new Set(reader.seen);
        await reader.refresh();
        expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
        expect(await reader.repeats("unguarded", seenBefore)).toEqual([]); // the server knows now
        await reader.look();
        expect((await reader.refreshAndLook(3)).guarded).toBe(0);
      });

      await test.step("the server's store is flushed, and still nothing comes back", async () => {
        await flush(reader.user);
        const repeats = await reader.refreshAndLook(5);
        expect(repeats.guarded).toBe(0);
        expect(repeats.unguarded).toBeGreaterThan(0);
        expect(await reader.counter("repeats-guarded")).toBe(0);
      });
    });

    test("with a lag, what was seen arrives late, and meanwhile the guard alone keeps it back", async ({ page }) => {
      const reader = new Reader(page, demo.url, `late-${name}`);
      await reader.open();
      await reader.setLag(300);
      await reader.look();
      expect((await reader.refreshAndLook(4)).guarded).toBe(0);
      await expect(page.locator("#pipeline-waiting")).not.toHaveText("0");
      await expect(page.locator("#pipeline-known")).toHaveText("0");
      await reader.setLag(0);
      await reader.expectNothingPending();
      await expect(page.locator("#pipeline-waiting")).toHaveText("0");
      expect(await reader.counter("repeats-guarded")).toBe(0);
    });
  });
}
