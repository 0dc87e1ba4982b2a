/** The demo's promise, in a real browser and over both stores: whatever the stream does, nothing comes back on the guarded side. */
import { test } from "@playwright/test";
import { startDemo, startRedis, type RunningDemo, type RunningRedis } from "./processes.ts";
import { Reader, expect } from "./reader.ts";

for (const kind of ["memory", "Redis"] as const) {
  test.describe(`with what was seen kept in ${kind}`, () => {
    let redis: RunningRedis | undefined;
    let demo: RunningDemo;

    test.beforeAll(async () => {
      redis = kind === "Redis" ? await startRedis() : undefined;
      demo = await startDemo(redis === undefined ? {} : { REDIS_URL: redis.url });
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

    test("nothing that was looked at comes back: not while the stream is stopped, nor later, nor from a flushed store", async ({
      page,
    }) => {
      test.setTimeout(240_000);
      const reader = new Reader(page, demo.url, `lag-${kind}`);

      await test.step("the stream is stopped, and 30 refreshes bring repeats to the unguarded feed alone", async () => {
        await reader.open();
        await reader.setStream(false);
        await reader.look();
        const repeats = await reader.refreshAndLook(30);
        expect(repeats.guarded).toBe(0);
        expect(repeats.unguarded).toBeGreaterThan(100);
        expect(reader.seen.size).toBeGreaterThan(100);
        expect(await reader.counter("repeats-guarded")).toBe(0);
        expect(await reader.counter("repeats-unguarded")).toBeGreaterThan(100);
        expect(await reader.counter("stopped")).toBeGreaterThan(100);
        await reader.expectAllPending();
      });

      await test.step("after a reload still none", async () => {
        const seenBefore = new Set(reader.seen);
        await reader.reload();
        expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
        expect((await reader.repeats("unguarded", seenBefore)).length).toBeGreaterThan(0);
        await reader.look();
        expect((await reader.refreshAndLook(3)).guarded).toBe(0);
      });

      await test.step("the stream runs again, pending goes down to 0, and still nothing comes back", async () => {
        await reader.setLag(0);
        await reader.setStream(true);
        await expect(reader.counterOf("pending")).toHaveText("0");
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
      const reader = new Reader(page, demo.url, `late-${kind}`);
      await reader.open();
      await reader.setLag(300);
      await reader.look();
      expect((await reader.refreshAndLook(4)).guarded).toBe(0);
      await expect(page.locator("#pipeline-waiting")).not.toHaveText("0");
      await expect(page.locator("#pipeline-known")).toHaveText("0");
      await reader.setLag(0);
      await expect(reader.counterOf("pending")).toHaveText("0");
      await expect(page.locator("#pipeline-waiting")).toHaveText("0");
      expect(await reader.counter("repeats-guarded")).toBe(0);
    });
  });
}
