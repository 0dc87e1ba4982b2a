/** A store in a faulty Redis: a replica, full memory, damaged keys, a restart during a load. */
import { createClient } from "redis";
import { redisStore, type SeenGuardError, type SeenStore, type StoreOptions } from "seenguard/server";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startRedis, type RunningRedis } from "../../support/processes.ts";
import { Device } from "../../support/shards.js";
import { idsOf } from "../../support/node.js";

const POOL = ["a", "b", "c", "d"];
const SOON = { timeout: 20_000, interval: 50 };

let redis: RunningRedis;
let nodeRedis: ReturnType<typeof createClient>;
beforeAll(async () => {
  redis = await startRedis();
  nodeRedis = createClient({ url: redis.url });
  nodeRedis.on("error", () => undefined); // expected while a test has stopped the server
  await nodeRedis.connect();
});
afterAll(async () => {
  nodeRedis.destroy();
  await redis.stop();
});
beforeEach(() => redis.client.flushall());

const clients: [string, (options?: StoreOptions) => SeenStore][] = [
  ["ioredis", (options) => redisStore(redis.client, options)],
  ["node-redis", (options) => redisStore(nodeRedis, options)],
];

/** A store, and the errors of its `onError`. */
function listened(open: (options?: StoreOptions) => SeenStore, options: StoreOptions = {}) {
  const errors: SeenGuardError[] = [];
  return {
    store: open({ ...options, onError: (error) => errors.push(error) }),
    codes: () => errors.map(({ code }) => code),
    errors,
  };
}

async function pageFor(store: SeenStore, pending?: string): Promise<string[]> {
  return (await store.page("ada", POOL, { size: 4, pending })).items;
}

describe.each(clients)("with %s, a full Redis", (_, open) => {
  // No key is evicted.
  const fill = () => redis.client.config("SET", "maxmemory", "1");
  afterEach(() => redis.client.config("SET", "maxmemory", "0"));

  test("serves pages, stores no pending lists, reports that once, and acknowledges no report", async () => {
    const { store, errors } = listened(open);
    await store.update("ada", (chain) => chain.record("a"));
    await pageFor(store, new Device("home:ada", 1).pending(["b"]));
    await fill();
    const tablet = new Device("home:ada", 2);
    for (let page = 0; page < 3; page++) expect(await pageFor(store, tablet.pending(["c"]))).toEqual(["d"]);
    expect(await pageFor(store)).toEqual(["c", "d"]);
    await expect(store.accept("ada", tablet.report(["d"]))).rejects.toThrow(/OOM/);
    expect(errors.map(({ code, message }) => [code, message.includes("OOM")])).toEqual([["storage", true]]);
  });

  test.each<[string, (store: SeenStore) => Promise<unknown>]>([
    ["a first chain", (store) => store.update("eve", (chain) => chain.record("a"))],
    ["more in the newest shard", (store) => store.update("ada", (chain) => chain.record("new"))],
    ["a new shard", (store) => store.update("ada", (chain) => chain.record(idsOf("new", 300)))],
    ["unsee", (store) => store.unsee("ada", "a")],
    ["another field", (store) => store.unsee("bob", "b")],
  ])("is not written past its memory: %s", async (_what, write) => {
    const store = open();
    await store.update("ada", (chain) => chain.record([...POOL, ...idsOf("item", 270)]));
    await store.update("bob", (chain) => chain.record(POOL));
    await store.unsee("bob", "a");
    const dump = async () =>
      Promise.all((await redis.client.keys("*")).sort().map(async (key) => [key, await redis.client.dumpBuffer(key)]));
    const before = await dump();
    await fill();
    await expect(write(store)).rejects.toThrow(/OOM/);
    expect(await dump()).toEqual(before);
  });

  test("deletes a history nevertheless", async () => {
    const store = open();
    await store.update("ada", (chain) => chain.record(POOL));
    await store.unsee("ada", "a");
    await pageFor(store, new Device("home:ada", 1).pending(["b"]));
    await fill();
    await store.forget("ada");
    expect(await redis.client.keys("*")).toEqual(["seen:ada:meta"]);
    expect(Object.keys(await redis.client.hgetall("seen:ada:meta")).sort()).toEqual(["forgetBefore", "revision"]);
  });
});

test("a read-only replica serves pages from its data, and reports once that it stores nothing", async () => {
  const master = redisStore(redis.client);
  await master.update("ada", (chain) => chain.record("a"));
  await pageFor(master, new Device("home:ada", 1).pending(["b"]));
  const replica = await startRedis();
  const other = createClient({ url: replica.url });
  await other.connect();
  onTestFinished(async () => {
    other.destroy();
    await replica.stop();
  });
  await replica.client.call("REPLICAOF", "127.0.0.1", new URL(redis.url).port);
  await vi.waitUntil(async () => (await replica.client.exists("seen:ada:pending")) === 1, SOON);
  for (const client of [replica.client, other]) {
    const { store, errors } = listened((options) => redisStore(client, options), { deadlineMs: 500 });
    const tablet = new Device("home:ada", 2);
    for (let page = 0; page < 3; page++) expect(await pageFor(store, tablet.pending(["c"]))).toEqual(["d"]);
    await expect(store.accept("ada", tablet.report(["d"]))).rejects.toThrow(/READONLY/);
    expect(errors.map(({ code, message }) => [code, message.includes("READONLY")])).toEqual([["storage", true]]);
    // A change needs the master, which this replica may become.
    const changed = store.update("ada", (chain) => chain.record("d"));
    await expect(changed).rejects.toThrow(/READONLY/);
  }
});

test("a change during a failover is made on the new master", async () => {
  const store = redisStore(redis.client);
  await redis.client.call("REPLICAOF", "127.0.0.1", "1");
  onTestFinished(() => void redis.client.call("REPLICAOF", "NO", "ONE"));
  const changing = store.update("ada", (chain) => chain.record("a"));
  await new Promise((resolve) => setTimeout(resolve, 300));
  await redis.client.call("REPLICAOF", "NO", "ONE");
  expect(await changing).toBe(1);
  expect(await pageFor(store)).toEqual(["b", "c", "d"]);
});

test("a page is read where the script may not write", async () => {
  await redis.client.call("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@all", "-hset");
  const client = createClient({ url: redis.url, username: "reader", password: "any" });
  await client.connect();
  onTestFinished(() => client.destroy());
  const { store, codes } = listened((options) => redisStore(client, options));
  expect(await pageFor(store, new Device("home:ada", 1).pending(["a"]))).toEqual(["b", "c", "d"]);
  expect(codes()).toEqual(["storage"]);
});

describe.each(clients)("with %s, damaged data in a user's keys is ignored and reported", (_, open) => {
  const notText = Buffer.from([0x75, 0x6e, 0xff, 0xfe, 0x00, 0x80]);
  const many = Object.fromEntries(idsOf("gone", 1_005).map((id) => [`unseen:${id}`, "1764000000000"]));
  const damages: [string, () => Promise<unknown>][] = [
    ["a deletion at no time", () => redis.client.hset("seen:ada:meta", "forgetBefore", "1e99")],
    ["a deletion beyond all time", () => redis.client.hset("seen:ada:meta", "forgetBefore", "99999999999")],
    ["a value that is not a string", () => redis.client.hset("seen:ada:meta", "unseen:b", notText)],
    ["too many unseen ids", () => redis.client.hset("seen:ada:meta", many)],
    ["a newest shard that is not a string", () => redis.client.lpush("seen:ada", notText)],
    ["an oldest shard that is not a string", () => redis.client.rpush("seen:ada", notText)],
    ["an empty shard", () => redis.client.lpush("seen:ada", "")],
  ];

  test.each(damages)("%s", async (_what, damage) => {
    const { store, codes } = listened(open);
    await store.update("ada", (chain) => chain.record(["a", "b", "c"]));
    await store.unsee("ada", "a");
    await damage();
    expect(await pageFor(store)).toEqual(["a", "d"]);
    expect((await store.read("ada")).filter(POOL)).toEqual(["a", "d"]);
    expect(codes()).toEqual(["bad-snapshot", "bad-snapshot"]);
    await store.update("ada", (chain) => chain.record("d"));
    expect(codes()).toEqual(["bad-snapshot", "bad-snapshot", "bad-snapshot"]);
    // The change removes it.
    expect(await pageFor(store)).toEqual(["a"]);
    expect(codes()).toHaveLength(3);
    expect((await store.read("ada")).rejected).toEqual([]);
    expect(Object.keys(await redis.client.hgetall("seen:ada:meta")).sort()).toEqual(["revision", "unseen:a"]);
  });

  test("except in fields of other names", async () => {
    const { store, codes } = listened(open);
    await redis.client.hset("seen:ada:meta", notText, notText);
    await store.update("ada", (chain) => chain.record("a"));
    await store.unsee("ada", "a");
    await store.update("ada", (chain) => chain.record("a"));
    expect(await redis.client.hgetBuffer("seen:ada:meta", notText)).toEqual(notText);
    expect(await redis.client.hkeys("seen:ada:meta")).toEqual(expect.arrayContaining(["revision", "seen:a"]));
    expect(codes()).toEqual([]);
  });
});

test("users whose keys would collide are distinguished or refused", async () => {
  const store = redisStore(redis.client);
  await store.update("a\ufffd", (chain) => chain.record("a"));
  for (const user of ["a\ud800", "a\udfff", "\ud83d"])
    await expect(store.read(user)).rejects.toThrow(expect.objectContaining({ code: "bad-option" }) as Error);
  expect((await redis.client.keys("*")).sort()).toEqual(["seen:a\ufffd", "seen:a\ufffd:meta"]);
  expect(() => redisStore(redis.client, { prefix: "\ud800" })).toThrow(/prefix/);
  await store.update("🙂", (chain) => chain.record("a"));
});

test.each(clients)("a Redis that reloads is awaited, with %s", async (name) => {
  const own = await startRedis({
    ...{ "enable-debug-command": "yes", "key-load-delay": "20000", "loading-process-events-interval-bytes": "1024" },
  });
  const other = createClient({ url: own.url });
  await other.connect();
  onTestFinished(async () => {
    other.destroy();
    await own.stop();
  });
  const store = redisStore(name === "ioredis" ? own.client : other);
  const users = idsOf("user", 50);
  await Promise.all(users.map((user) => store.update(user, (chain) => chain.record(idsOf("item", 200)))));
  // Like a replica during a full resynchronization.
  const debugging = own.client.duplicate();
  debugging.on("error", () => undefined); // once the server has ended
  const reloading = debugging.call("DEBUG", "RELOAD");
  await vi.waitUntil(
    () =>
      other.get("any").then(
        () => false,
        (error: unknown) => String(error).includes("LOADING"),
      ),
    SOON,
  );
  await Promise.all(users.map((user) => store.update(user, (chain) => chain.record("new"))));
  await reloading;
  debugging.disconnect();
  for (const user of users) expect((await store.read(user)).filter(["item-0", "new", "fresh"])).toEqual(["fresh"]);
});
