/** A store's calls for a device: pages, reports, and the pending lists of the person's other devices. */
import { createClient } from "redis";
import {
  memoryStore,
  pageOf,
  parseReport,
  redisStore,
  seenOf,
  ShardChain,
  type Page,
  type ReceivedReport,
  type SeenGuardError,
  type SeenStore,
  type StoreOptions,
} from "seenguard/server";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { startRedis, type RunningRedis } from "../../support/processes.ts";
import { Device } from "../../support/shards.js";
import { DAY_SECONDS, heldBy, idsOf, MapStorage, newPage, openGuard } from "../../support/node.js";

let redis: RunningRedis;
let nodeRedis: ReturnType<typeof createClient>;
beforeAll(async () => {
  redis = await startRedis();
  nodeRedis = createClient({ url: redis.url });
  await nodeRedis.connect();
});
afterAll(async () => {
  nodeRedis.destroy();
  await redis.stop();
});
beforeEach(() => redis.client.flushall());

const POOL = ["a", "b", "c", "d", "e"];
const namespaceOf = (user: string) => `home:${user}`;
const stores: [string, (options?: StoreOptions) => SeenStore][] = [
  ["memoryStore", (options) => memoryStore(options)],
  ["redisStore with ioredis", (options) => redisStore(redis.client, options)],
  ["redisStore with node-redis", (options) => redisStore(nodeRedis, options)],
];

/** The ids of the page for a device with a pending list. */
async function pageFor(store: SeenStore, pending?: string): Promise<string[]> {
  return (await store.page("ada", POOL, { size: 5, pending })).items;
}

describe.each(stores)("%s", (_, open) => {
  test("returns the page of the chain", async () => {
    const now = Math.floor(Date.now() / 1000);
    const store = open({ clock: () => now });
    await store.update("ada", (chain) => chain.record(["a", "c"]));
    const chain = await store.read("ada");
    for (const repeats of ["drop", "last"] as const) {
      for (let cursor: string | null = null; ;) {
        const page: Page<string> = await store.page("ada", POOL, { size: 2, repeats, cursor });
        expect(page).toEqual(pageOf(chain, POOL, { size: 2, repeats, cursor, now }));
        cursor = page.next;
        if (cursor === null) break;
      }
    }
    const posts = [{ key: 1 }, { key: 2 }];
    const { items } = await store.page("ada", posts, { size: 1, id: ({ key }) => key });
    expect(items).toEqual([{ key: 1 }]);
    chain.free();
  });

  test("sends references of shards that the device holds", async () => {
    const store = open();
    await store.update("ada", (chain) => chain.record("a"));
    const { snapshot } = await store.page("ada", POOL, { size: 5 });
    expect(snapshot?.shards).toHaveLength(1);
    const { guard } = await openGuard();
    guard.apply(snapshot);
    const { snapshot: again } = await store.page("ada", POOL, { size: 5, held: heldBy(guard) });
    expect(again?.shards).toEqual([expect.stringMatching(/^~/)]);
  });

  test("stores a pending list for 2 days after its last change, or for the time of the option", async () => {
    const begun = Math.floor(Date.now() / 1000);
    let now = begun;
    for (const [pendingSeconds, seconds] of [
      [undefined, 2 * DAY_SECONDS],
      [60, 60],
    ] as const) {
      const store = open({ clock: () => now, ...(pendingSeconds && { pendingSeconds }) });
      const pageAt = (at: number, pending?: string) => {
        now = at;
        return pageFor(store, pending);
      };
      const [phone, tablet] = [new Device("home:ada", 1), new Device("home:ada", 2)];
      await pageAt(begun, phone.pending(["a"]));
      await pageAt(begun + 10, tablet.pending(["b"]));
      expect(await pageAt(begun + seconds)).toEqual(["c", "d", "e"]);
      expect(await pageAt(begun + seconds + 1)).toEqual(["a", "c", "d", "e"]);
      await redis.client.flushall();
    }
  });

  test("refuses a report of another namespace before anything is stored, and ignores its devices", async () => {
    const store = open({ namespaceOf });
    const stranger = new Device("home:bob", 1);
    const report = stranger.report(["a"]);
    const refusal = expect.objectContaining({ code: "wrong-namespace" }) as Error;
    await expect(store.accept("ada", report)).rejects.toThrow(refusal);
    await expect(store.ingest("ada", parseReport(report))).rejects.toThrow(refusal);
    expect(await pageFor(store)).toEqual(POOL);
    expect(await pageFor(store, report.pending)).toEqual(POOL);
    expect(await pageFor(store)).toEqual(POOL);
    expect(await redis.client.keys("*")).toEqual([]);
    expect(await store.accept("bob", report)).toMatchObject({ namespace: "home:bob" });
    // The list of a device without a name is used only for its request.
    const unnamed = stranger.pending(["a"]).slice(stranger.name.length);
    expect(await pageFor(store, unnamed)).toEqual(["b", "c", "d", "e"]);
    expect(await pageFor(store)).toEqual(POOL);
  });

  test("refuses a report of more than 1,000 entries before anything is stored", async () => {
    const store = open();
    const phone = new Device("home:ada", 1);
    const { impressions, ...report } = phone.report(idsOf("item", 900));
    const unseen = (count: number) => impressions.slice(0, count);
    const refused = store.accept("ada", { ...report, impressions, unseen: unseen(101) });
    await expect(refused).rejects.toThrow(expect.objectContaining({ code: "too-large" }) as Error);
    expect(await redis.client.exists("seen:ada:pending")).toBe(0);
    expect((await store.page("ada", ["item-1"], { size: 1 })).items).toEqual(["item-1"]);
    const received = await store.accept("ada", { ...report, impressions, unseen: unseen(100) });
    expect([received.impressions.length, received.unseen.length]).toEqual([900, 100]);
    expect((await store.page("ada", ["item-1"], { size: 1 })).items).toEqual([]);
  });

  test("leaves out of a report the entries whose id has more than 4,096 bytes, or 256 if unseen", async () => {
    const store = open();
    const ids = ["a", "é".repeat(2_048), `é${"é".repeat(2_048)}`, "x".repeat(4_096), "x".repeat(4_097)];
    const { impressions, ...report } = new Device("home:ada", 1).report(ids);
    const unseen = ["é".repeat(128), "é".repeat(129)].map((id) => ({ id, at: report.now }));
    const received = await store.accept("ada", { ...report, impressions, unseen });
    expect(received.impressions.map(({ id }) => id)).toEqual([ids[0], ids[1], ids[3]]);
    expect(received.unseen.map(({ id }) => id)).toEqual(["é".repeat(128)]);
    await expect(store.unsee("ada", ["a", "é".repeat(129)])).rejects.toMatchObject({ code: "bad-report" });
  });

  test("has the recommended options by default, each replaced by the one that is passed", async () => {
    const recommended = { capacity: 281, shards: 20, falsePositiveRate: 0.00025, ttlSeconds: 30 * DAY_SECONDS };
    for (const [options, full] of [
      [{}, recommended],
      [{ capacity: 100 }, { ...recommended, capacity: 100 }],
      [{ ttlSeconds: 0 }, { ...recommended, ttlSeconds: 0 }],
      [{ format: "guava" }, { ...recommended, ttlSeconds: 0, format: "guava" }],
      [{ format: { kind: "go-bloomfilter" } }, { ...recommended, ttlSeconds: 0, format: { kind: "go-bloomfilter" } }],
    ] as const) {
      const user = JSON.stringify(options);
      const now = Math.floor(Date.now() / 1000);
      const ids = idsOf("item", 300);
      const store = open(options);
      await store.update(user, (chain) => chain.record(ids, { now }));
      const chain = await ShardChain.create(full);
      chain.record(ids, { now });
      const stored = await store.read(user);
      expect(stored.snapshot({ now })).toEqual(chain.snapshot({ now }));
      chain.free();
      stored.free();
    }
  });

  test.each([
    ["no list", (store: SeenStore) => store.page("ada", undefined as unknown as string[], { size: 1 }), "bad-option"],
    ["no size", (store: SeenStore) => store.page("ada", POOL, {} as { size: number }), "bad-option"],
    ["half of a character", (store: SeenStore) => store.page("a\ud800", POOL, { size: 1 }), "bad-option"],
    ["the same for a report", (store: SeenStore) => store.accept("\udc00", {}), "bad-option"],
    ["the same for a change", (store: SeenStore) => store.forget("\udc00a"), "bad-option"],
    ["no report", (store: SeenStore) => store.accept("ada", "what is this"), "bad-report"],
    ["a report that was not received", (store: SeenStore) => store.ingest("ada", {} as ReceivedReport), "bad-report"],
    ["a user whose key is another one's", (store: SeenStore) => store.read("ada:pending"), "bad-option"],
  ])("refuses %s", async (_what, use, code) => {
    await expect(use(open())).rejects.toThrow(expect.objectContaining({ code }) as Error);
  });

  test.each([
    ...[{ namespaceOf: "home" }, { onError: 7 }, { pendingSeconds: 0 }, { namespace: "home" }],
    ...[{ patienceMs: 0 }, { patienceMs: "1 s" }, { deadlineMs: Infinity }, { deadlineMs: 2 ** 31 }],
  ])("refuses the option %j", (options) => {
    expect(() => open(options as unknown as StoreOptions)).toThrow(
      expect.objectContaining({ code: "bad-option" }) as Error,
    );
  });

  test("refuses a namespaceOf that does not return a string", async () => {
    const store = open({ namespaceOf: () => undefined as unknown as string });
    await expect(store.page("ada", POOL, { size: 1 })).rejects.toThrow(/namespaceOf/);
  });
});

test.each(stores)("a person's guards show nothing twice while the stream is stopped: %s", async (_, open) => {
  const store = open({ namespaceOf });
  const ranked = idsOf("item", 400);
  const devices = await Promise.all(
    [1, 2, 3].map(async () => {
      const { guard } = await openGuard({ namespace: "home:ada", storage: new MapStorage() }, newPage());
      await guard.flush(); // which names the device, too
      return guard;
    }),
  );
  const shown: string[] = [];
  for (let refresh = 0; refresh < 12; refresh++) {
    const guard = devices[refresh % 3];
    if (!guard) throw new Error("there are three");
    const request = new Request("http://localhost/feed", { headers: guard.headers() });
    const page = await store.page("ada", ranked, { size: 10, ...seenOf(request) });
    guard.apply(page.snapshot);
    expect(guard.filter(page.items)).toEqual(page.items);
    shown.push(...page.items);
    guard.record(page.items);
    // The last impressions arrive in a report.
    const reported: unknown[] = [];
    const stop = guard.report({ send: (report) => Promise.resolve(void reported.push(report)) });
    await guard.deliver();
    stop();
    for (const report of reported) await store.accept("ada", JSON.stringify(report));
  }
  expect(shown).toEqual(ranked.slice(0, 120));
});

describe.each(stores.slice(1))("%s", (_, open) => {
  test("stores a hash from the device name to time and pending list", async () => {
    let now = 1_764_000_000.7;
    const store = open({ clock: () => now });
    const phone = new Device("home:ada", 1);
    const pending = phone.pending(["a"], 71);
    await pageFor(store, pending);
    expect(await redis.client.hgetall("seen:ada:pending")).toEqual({ [phone.name]: `1764000000 ${pending}` });
    expect(await redis.client.ttl("seen:ada:pending")).toBeGreaterThan(2 * DAY_SECONDS - 60);
    const nothing = phone.pending([], 72);
    now = 1_764_000_001;
    await pageFor(store, nothing);
    expect(await redis.client.hgetall("seen:ada:pending")).toEqual({ [phone.name]: `1764000001 ${nothing}` });
  });

  test("sends Redis one command for a page, and writes only changes", async () => {
    const store = open();
    const phone = new Device("home:ada", 1);
    const pending = phone.pending(["a"]);
    await pageFor(store, pending);
    await redis.client.call("CONFIG", "RESETSTAT");
    await redis.client.expire("seen:ada:pending", 1000);
    await pageFor(store, pending);
    const said = await redis.client.info("commandstats");
    expect(said).toMatch(/^cmdstat_evalsha:calls=1,/m);
    expect(said).not.toMatch(/hset/);
    expect(await redis.client.ttl("seen:ada:pending")).toBeLessThanOrEqual(1000);
  });

  test("serves the page if the key has another type, and reports it", async () => {
    const errors: SeenGuardError[] = [];
    const store = open({ onError: (error) => errors.push(error) });
    await redis.client.set("seen:ada:pending", "a text");
    expect(await pageFor(store, new Device("home:ada", 1).pending(["a"]))).toEqual(["b", "c", "d", "e"]);
    expect(errors.map(({ code, message }) => [code, message.includes("WRONGTYPE")])).toEqual([["storage", true]]);
  });
});

test("events without a listener are warnings, each once", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const store = redisStore(redis.client);
  await redis.client.lpush("seen:ada", "damaged", "damaged");
  await store.page("ada", POOL, { size: 1 });
  await store.page("ada", POOL, { size: 1 });
  expect(warn.mock.calls.map(([text]) => String(text))).toEqual([expect.stringMatching(/bad-base64: shard 0: /)]);
  warn.mockRestore();
});

test("no message names a user, an id or a namespace", async () => {
  const messages: string[] = [];
  const note = (error: unknown) => void messages.push((error as Error).message);
  const [user, id] = ["ada-7", "article-7"];
  const store = redisStore(redis.client, { namespaceOf, onError: note, deadlineMs: 200 });
  const report = new Device(namespaceOf(user), 1).report([id]);
  await redis.client.lpush(`seen:${user}`, "damaged");
  await redis.client.hset(`seen:${user}:meta`, `unseen:${id}`, "soon");
  await redis.client.set(`seen:${user}:pending`, "a text");
  await store.page(user, [id], { size: 1, pending: report.pending });
  // The stored list, the field, and the shard.
  expect(messages).toHaveLength(3);
  for (const refused of [
    () => store.accept(user, report),
    () => store.accept(user, new Device("home:bob-7", 1).report([id])),
    () => store.accept(user, `{ "namespace": home:${user}`),
    () => store.accept(user, { ...report, impressions: [{ id, at: "soon" }] }),
    () => store.read(`${user}:meta`),
    () => redis.client.del(`seen:${user}:meta`, `seen:${user}`).then(() => store.update(user, overtaken(user))),
    () => redis.client.set(`seen:${user}`, "a text").then(() => store.read(user)),
  ])
    await refused().then(() => expect.unreachable(), note);
  await store.page(user, [id], { size: 1 });
  expect(messages).toHaveLength(11);
  for (const message of messages) expect(message).not.toMatch(/ada|bob|article|home/);
});

/** A change that loses to another one each time. */
function overtaken(user: string): (chain: ShardChain) => number {
  return (chain) => {
    void redis.client.hincrby(`seen:${user}:meta`, "revision", 1);
    return chain.record("a");
  };
}
