/**
 * The demo over a Redis that is stopped and started again in the middle: the page goes on, nothing comes back, nothing
 * is lost.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "@playwright/test";
import { Redis } from "ioredis";
import { redisStore } from "seenguard/server";
import { CHAIN_OPTIONS, withChain } from "../../www/server/chain.ts";
import { OVER_RUST, startDemo, type RunningDemo } from "./processes.ts";
import { Reader, expect } from "./reader.ts";

test.use({ viewport: { width: 1280, height: 900 } });

/** After an outage the next attempt to deliver comes as late as the outage was long. */
const BACKED_OFF = { timeout: 120_000 };

let redis: DurableRedis;
let demo: RunningDemo;
test.beforeAll(async () => {
  redis = await DurableRedis.onFreePort();
  await redis.start();
  demo = await startDemo({ REDIS_URL: redis.url });
});
test.afterAll(async () => {
  await demo.stop();
  await redis.stop();
  await rm(redis.directory, { recursive: true, force: true });
});

test(
  "Redis is stopped and started again: nothing comes back, and nothing that was seen is lost",
  OVER_RUST,
  async ({ page }) => {
    test.setTimeout(300_000);
    const reader = new Reader(page, demo.url, "outage");
    await reader.open();
    await reader.setLag(0);
    await reader.look();
    expect((await reader.refreshAndLook(2)).guarded).toBe(0);
    // Some are in the shards, some under way, when Redis stops.
    await reader.expectNothingPending();
    await reader.setLag(300);
    expect((await reader.refreshAndLook(2)).guarded).toBe(0);
    await expect(page.locator("#pipeline-waiting")).not.toHaveText("0");
    const next = page.getByRole("button", { name: "Next page" });
    const blocks = page.locator('.column[data-side="guarded"] .block');
    for (const before = await blocks.count(); (await blocks.count()) < before + 2;) await next.dispatchEvent("click");

    await redis.stop();
    await expect(page.getByRole("alert")).toContainText("What you have seen stays on this device");
    const seenBefore = reader.seen.size;
    await page.evaluate(() => {
      scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
    });
    await reader.look();
    expect(reader.seen.size).toBeGreaterThan(seenBefore);
    await reader.refresh(); // there is no new list, and the old one stays
    expect((await reader.shown("guarded")).length).toBeGreaterThan(0);

    await redis.start();
    // The first request may still meet the connection of before.
    const old = await reader.shown("guarded");
    await expect(async () => {
      await reader.refresh();
      expect(await reader.shown("guarded")).not.toEqual(old);
    }).toPass();
    await expect(page.getByRole("alert")).toBeEmpty();
    await reader.setLag(0);
    const repeats = await reader.refreshAndLook(3);
    expect(repeats.guarded).toBe(0);
    await reader.expectNothingPending(BACKED_OFF);
    expect((await reader.refreshAndLook(2)).guarded).toBe(0);
    expect(await reader.counter("repeats-guarded")).toBe(0);
    await reader.expectNothingPending(BACKED_OFF);
    expect(await redis.lacks(reader.user, [...reader.seen])).toEqual([]);
  },
);

/** A redis-server that keeps its data when it is stopped, as one in production does. */
class DurableRedis {
  private server: ChildProcess | undefined;

  private constructor(
    readonly directory: string,
    private readonly port: number,
  ) {}

  static async onFreePort(): Promise<DurableRedis> {
    const listening = createServer().listen(0, "127.0.0.1");
    await once(listening, "listening");
    const { port } = listening.address() as AddressInfo;
    listening.close();
    await once(listening, "close");
    return new DurableRedis(await mkdtemp(join(tmpdir(), "seenguard-outage-")), port);
  }

  get url(): string {
    return `redis://127.0.0.1:${String(this.port)}`;
  }

  /** With whatever it held when it was stopped. */
  async start(): Promise<void> {
    const place = ["--port", String(this.port), "--bind", "127.0.0.1", "--dir", this.directory];
    const server = spawn("redis-server", [...place, "--appendonly", "yes", "--save", ""]);
    process.once("exit", () => server.kill("SIGKILL"));
    this.server = server;
    let output = "";
    for await (const chunk of server.stdout.iterator({ destroyOnReturn: false })) {
      output += String(chunk);
      if (output.includes("Ready to accept connections")) break;
    }
    server.stdout.resume();
    if (server.exitCode !== null) throw new Error(`redis-server ended:\n${output}`);
  }

  async stop(): Promise<void> {
    if (this.server === undefined) return;
    const ended = once(this.server, "exit");
    this.server.kill("SIGTERM");
    await ended;
    this.server = undefined;
  }

  /** The ids that this person's shards do not contain. */
  async lacks(user: string, ids: readonly string[]): Promise<string[]> {
    const client = new Redis(this.url);
    try {
      await once(client, "ready");
      return await withChain(redisStore(client, CHAIN_OPTIONS).read(user), (chain) => chain.filter(ids));
    } finally {
      client.disconnect();
    }
  }
}
