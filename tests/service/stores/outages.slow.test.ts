/** A store whose Redis hangs, ends or never existed: each call settles, and pages are degraded. */
import { Redis } from "ioredis";
import { createClient } from "redis";
import { parseReport, redisStore, type SeenGuardError, type SeenStore, type StoreOptions } from "seenguard/server";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../../scripts/lib/processes.mjs";
import { startRedis, type RunningRedis } from "../../support/processes.ts";
import { Device } from "../../support/shards.js";

const POOL = ["a", "b", "c", "d", "e"];
const SOON = { timeout: 30_000, interval: 50 };
/** Longer than any test. */
const LONG = 600_000;
const nothing = () => undefined;

/** A client with its defaults, until the test is over; it need not have a connection yet. */
const clients: [string, (url: string) => object][] = [
  [
    "ioredis",
    (url) => {
      const client = new Redis(url);
      client.on("error", nothing);
      onTestFinished(() => client.disconnect());
      return client;
    },
  ],
  [
    "node-redis",
    (url) => {
      const client = createClient({ url });
      client.on("error", nothing);
      client.connect().catch(nothing);
      onTestFinished(() => client.destroy());
      return client;
    },
  ],
];

/** A Redis until the test is over. */
async function ownRedis(): Promise<RunningRedis> {
  const redis = await startRedis();
  onTestFinished(async () => {
    redis.wake();
    await redis.stop();
  });
  return redis;
}

/** A store, and the errors of its `onError`. */
function listened(client: object, options: StoreOptions) {
  const errors: SeenGuardError[] = [];
  return { store: redisStore(client, { ...options, onError: (error) => errors.push(error) }), errors };
}

const pageOf = (store: SeenStore, pending?: string) => store.page("ada", POOL, { size: 5, pending });

/** Makes the Redis of a connected client fail; or returns an address without a Redis. */
const faults: [string, () => Promise<{ url: string; fail?: () => Promise<void> | void }>][] = [
  [
    "hangs",
    async () => {
      const redis = await ownRedis();
      return { url: redis.url, fail: () => redis.hang() };
    },
  ],
  [
    "is killed",
    async () => {
      const redis = await ownRedis();
      return { url: redis.url, fail: () => redis.kill() };
    },
  ],
  ["never existed", async () => ({ url: `redis://127.0.0.1:${String(await freePort())}` })],
];

describe.each(clients)("with %s", (_, connect) => {
  describe.each(faults)("a Redis that %s", (_fault, prepare) => {
    /** A store, connected if possible, whose Redis has failed. */
    async function failing(options: StoreOptions) {
      const { url, fail } = await prepare();
      const { store, errors } = listened(connect(url), options);
      if (fail) {
        await vi.waitUntil(async () => (await pageOf(store)).degraded === undefined, SOON);
        errors.length = 0;
        await fail();
      }
      return { store, errors };
    }

    test("yields degraded pages, which leave out only the requesting device's pending impressions", async () => {
      const { store, errors } = await failing({ patienceMs: 100 });
      const pending = new Device("home:ada", 1).pending(["b", "d"]);
      expect(await pageOf(store, pending)).toEqual({ items: ["a", "c", "e"], next: null, degraded: true });
      const first = await store.page("ada", POOL, { size: 2, pending, repeats: "last" });
      expect(first).toEqual({ items: ["a", "c"], next: expect.any(String) as string, degraded: true });
      const second = await store.page("ada", POOL, { size: 5, pending, repeats: "last", cursor: first.next });
      expect(second).toEqual({ items: ["e", "b", "d"], next: null, degraded: true });
      expect(errors.map(({ code }) => code)).toEqual(["storage"]);
    });

    test("makes every other call reject with `storage`", async () => {
      const { store } = await failing({ deadlineMs: 200 });
      const report = new Device("home:ada", 1).report(["a"]);
      const received = parseReport(report);
      const calls = [
        store.read("ada"),
        store.update("ada", (chain) => chain.record("a")),
        store.accept("ada", report),
        store.ingest("ada", received),
        store.unsee("ada", "a"),
        store.forget("ada"),
      ];
      for (const call of await Promise.allSettled(calls))
        expect(call).toMatchObject({
          status: "rejected",
          reason: { code: "storage", cause: expect.any(Error) as Error },
        });
    });
  });

  test("a Redis that works again is used, and each outage is reported once", async () => {
    const redis = await ownRedis();
    const { store, errors } = listened(connect(redis.url), { patienceMs: 100 });
    const isWhole = async () => (await pageOf(store)).degraded === undefined;
    for (let outage = 1; outage <= 2; outage++) {
      await vi.waitUntil(isWhole, SOON);
      errors.length = 0;
      redis.hang();
      for (let page = 0; page < 3; page++) expect(await pageOf(store)).toMatchObject({ degraded: true });
      expect(errors.map(({ code }) => code)).toEqual(["storage"]);
      redis.wake();
    }
    await vi.waitUntil(isWhole, SOON);
    expect(await store.update("ada", (chain) => chain.record("a"))).toBe(1);
    expect(await pageOf(store)).toMatchObject({
      items: ["b", "c", "d", "e"],
      snapshot: { shards: [expect.any(String)] },
    });
  });

  test("a rejected call changes nothing after Redis responds again", async () => {
    const redis = await ownRedis();
    const client = connect(redis.url);
    const [hasty, patient] = [redisStore(client, { deadlineMs: 100 }), redisStore(client, { deadlineMs: LONG })];
    await patient.read("ada");
    redis.hang();
    const change = vi.fn(() => "changed");
    await expect(hasty.update("ada", change)).rejects.toThrow(expect.objectContaining({ code: "storage" }) as Error);
    redis.wake();
    // Its response follows those of earlier requests.
    await patient.read("ada");
    expect(change).not.toHaveBeenCalled();
  });

  test("at most 1,024 pages wait for it at once", async () => {
    const redis = await ownRedis();
    const store = redisStore(connect(redis.url), { patienceMs: LONG, onError: nothing });
    await pageOf(store);
    redis.hang();
    const pages = Array.from({ length: 1_024 }, () => pageOf(store));
    expect(await pageOf(store)).toMatchObject({ degraded: true });
    redis.wake();
    for (const page of await Promise.all(pages)) expect(page).not.toHaveProperty("degraded");
    expect(await pageOf(store)).not.toHaveProperty("degraded");
  });

  test("a degraded page counts as waiting until its read has a response", async () => {
    const redis = await ownRedis();
    const store = redisStore(connect(redis.url), { patienceMs: 100, onError: nothing });
    await vi.waitUntil(async () => (await pageOf(store)).degraded === undefined, SOON);
    await redis.client.call("CONFIG", "RESETSTAT");
    redis.hang();
    for (let round = 0; round < 3; round++)
      for (const page of await Promise.all(Array.from({ length: 600 }, () => pageOf(store))))
        expect(page).toHaveProperty("degraded", true);
    redis.wake();
    await vi.waitUntil(async () => (await pageOf(store)).degraded === undefined, SOON);
    const [, calls = ""] = /^cmdstat_evalsha:calls=(\d+),/m.exec(await redis.client.info("commandstats")) ?? [];
    // Those in progress, and later ones.
    expect(Number(calls)).toBeGreaterThan(1_024);
    expect(Number(calls)).toBeLessThan(1_100);
  });

  test("a response that arrived while this process was blocked is used", async () => {
    const redis = await ownRedis();
    const store = redisStore(connect(redis.url), { patienceMs: 200, onError: nothing });
    await vi.waitUntil(async () => (await pageOf(store)).degraded === undefined, SOON);
    redis.hang();
    const page = pageOf(store);
    // The command is sent.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    redis.wake();
    for (const end = performance.now() + 1_000; performance.now() < end;);
    expect(await page).not.toHaveProperty("degraded");
  });
});
