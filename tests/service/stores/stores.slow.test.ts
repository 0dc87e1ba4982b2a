/** Users' chains in a store: in memory, and in a real Redis through each of the clients. */
import { Redis } from "ioredis";
import { createClient } from "redis";
import {
  memoryBackend,
  memoryStore,
  redisStore,
  SeenGuardError,
  seenStore,
  type Backend,
  type SeenStore,
  type StoreOptions,
} from "seenguard/server";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startRedis, type RunningRedis } from "../../support/processes.ts";
import { DAY_SECONDS, idsOf } from "../../support/node.js";

let redis: RunningRedis;
let nodeRedis: ReturnType<typeof createClient>;
beforeAll(async () => {
  redis = await startRedis();
  nodeRedis = createClient({ url: redis.url });
  nodeRedis.on("error", () => undefined); // expected where a test ends its connection
  await nodeRedis.connect();
});
afterAll(async () => {
  nodeRedis.destroy();
  await redis.stop();
});
beforeEach(() => redis.client.flushall());

/** `push`: pushes a shard to Ada's list like another writer, over the store's connection. */
const stores: [string, (options?: StoreOptions) => SeenStore, push: (shard: string) => Promise<unknown>][] = [
  ["memoryStore", (options) => memoryStore(options), () => Promise.reject(new Error("it has no list"))],
  [
    "redisStore with ioredis",
    (options) => redisStore(redis.client, options),
    (shard) => redis.client.multi().lpush("seen:ada", shard).hincrby("seen:ada:meta", "revision", 1).exec(),
  ],
  [
    "redisStore with node-redis",
    (options) => redisStore(nodeRedis, options),
    (shard) => nodeRedis.multi().lPush("seen:ada", shard).hIncrBy("seen:ada:meta", "revision", 1).exec(),
  ],
];

async function missing(store: SeenStore, user: string, ids: readonly string[]): Promise<string[]> {
  const chain = await store.read(user);
  const fresh = chain.filter(ids);
  chain.free();
  return fresh;
}

describe.each(stores)("%s", (_, open) => {
  test("stores a chain for each user, and returns the change's result", async () => {
    const store = open();
    expect(await missing(store, "ada", ["a"])).toEqual(["a"]);
    expect(await store.update("ada", (chain) => chain.record(["a", "b"]))).toBe(2);
    expect(await store.update("eve", () => "nothing")).toBe("nothing");
    expect(await missing(store, "ada", ["a", "b", "c"])).toEqual(["c"]);
    expect(await missing(store, "eve", ["a"])).toEqual(["a"]);
  });

  test.each([
    ["no user", /user must be a string/, (store: SeenStore) => store.read(undefined as unknown as string)],
    ["an empty one", /user must be a string/, (store: SeenStore) => store.update("", () => 0)],
    ["a number", /user must be a string/, (store: SeenStore) => store.read(7 as unknown as string)],
    ["no change", /function/, (store: SeenStore) => store.update("ada", undefined as unknown as () => void)],
    ["an asynchronous change", /async/, (store: SeenStore) => store.update("ada", async () => Promise.resolve())],
  ])("refuses %s", async (_what, message, use) => {
    const refusal: unknown = await use(open()).then(String, (error: unknown) => error);
    expect(refusal).toMatchObject({ code: "bad-option", message: expect.stringMatching(message) as unknown });
  });

  test("refuses wrong options when it is created", () => {
    for (const options of [{ capacity: 0 }, { ttlSecond: 5 }] as StoreOptions[])
      expect(() => open(options)).toThrow(SeenGuardError);
  });
});

describe.each(stores.slice(1))("%s", (_, open, push) => {
  const ttl = 30 * DAY_SECONDS;
  const list = () => redis.client.lrange("seen:ada", 0, -1);

  const fields = async () => Object.keys(await redis.client.hgetall("seen:ada:meta")).sort();

  test("stores a list of shards, newest first, and a hash with the revision and the other fields", async () => {
    const store = open({ capacity: 10, shards: 3 });
    await store.update("ada", (chain) => chain.record(idsOf("item", 25)));
    const { shards } = (await store.read("ada")).snapshot();
    expect(await list()).toEqual(shards);
    expect(shards).toHaveLength(3);
    expect(await fields()).toEqual(["revision"]);
    await store.update("ada", (chain) => {
      chain.unsee("item-3");
    });
    expect(await fields()).toEqual(["revision", "unseen:item-3"]);
    await store.update("ada", (chain) => chain.record("item-3"));
    expect(await fields()).toEqual(["revision", "seen:item-3"]);
    expect((await redis.client.keys("*")).sort()).toEqual(["seen:ada", "seen:ada:meta"]);
  });

  test("sets an expiry of both: the window, and the slice by which a shard outlives it", async () => {
    const store = open({ ttlSeconds: ttl, shards: 20 });
    await store.update("ada", (chain) => chain.record(["a", "b"]));
    await store.update("ada", (chain) => {
      chain.unsee("a");
    });
    for (const key of ["seen:ada", "seen:ada:meta"]) {
      expect(await redis.client.ttl(key)).toBeGreaterThan(ttl * (1 + 1 / 19) - 60);
      expect(await redis.client.ttl(key)).toBeLessThanOrEqual(Math.ceil(ttl * (1 + 1 / 19)));
    }
    // A store with a shorter ttl continues the same shard, and does not shorten its expiry.
    await open({ ttlSeconds: 100 }).update("ada", (chain) => chain.record("b2"));
    expect(await list()).toHaveLength(1);
    expect(await redis.client.ttl("seen:ada")).toBeGreaterThan(ttl * (1 + 1 / 19) - 60);
    await open({ ttlSeconds: 0 }).update("ada", (chain) => chain.record("c"));
    expect(await redis.client.ttl("seen:ada")).toBe(-1);
  });

  test("writes nothing if nothing has changed", async () => {
    const store = open({ ttlSeconds: ttl });
    await store.update("ada", (chain) => chain.record("a"));
    await redis.client.persist("seen:ada");
    await store.update("ada", (chain) => chain.record("a"));
    expect(await redis.client.ttl("seen:ada")).toBe(-1);
  });

  test("sends a sealed shard only once", async () => {
    const store = open({ capacity: 100, shards: 20, ttlSeconds: ttl });
    await store.update("ada", (chain) => chain.record(idsOf("item", 1950)));
    const before = await bytesReceived();
    await store.update("ada", (chain) => chain.record("new"));
    const [newest = ""] = await list();
    expect(await list()).toHaveLength(20);
    expect((await bytesReceived()) - before).toBeLessThan(2 * newest.length + 1000);
  });

  test("continues after Redis has forgotten the scripts", async () => {
    const store = open();
    await store.update("ada", (chain) => chain.record("a"));
    await redis.client.script("FLUSH");
    await store.update("ada", (chain) => chain.record("b"));
    expect(await missing(store, "ada", ["a", "b", "c"])).toEqual(["c"]);
  });

  test("does not change shards of another version or library", async () => {
    const store = open({ capacity: 10, shards: 5 });
    await store.update("ada", (chain) => chain.record(idsOf("item", 15)));
    const before = await list();
    await push("17::AAAAAAAAAAA=");
    await store.update("ada", (chain) => chain.record("new"));
    expect((await list()).slice(1)).toEqual(["17::AAAAAAAAAAA=", ...before]);
    const { shards } = await store.read("ada").then((chain) => chain.snapshot());
    expect(shards.slice(1)).toEqual(before);
    expect(await missing(store, "ada", [...idsOf("item", 15), "new", "fresh"])).toEqual(["fresh"]);
  });

  test("rejects with Redis's errors as cause", async () => {
    await redis.client.set("seen:ada", "a text");
    await redis.client.call("CONFIG", "RESETSTAT");
    const refused: unknown = await open()
      .read("ada")
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "storage",
      cause: { message: expect.stringMatching(/^WRONGTYPE /) as string },
    });
    // Without a retry: a second call would have the same result.
    expect(await redis.client.info("commandstats")).toMatch(/^cmdstat_evalsha:calls=1,/m);
  });

  test("gives up with a `storage` error when others change the chain in each attempt", async () => {
    const store = open({ deadlineMs: 2_000 });
    let changes = 0;
    const losing = store.update("ada", (chain) => {
      // Another writer's change is stored before this one.
      void push(String(changes++));
      return chain.record("a");
    });
    await expect(losing).rejects.toThrow(expect.objectContaining({ code: "storage" }) as Error);
    expect(changes).toBeGreaterThan(10);
  });

  test("continues the list of a Go service", async () => {
    const store = open({ format: { kind: "go-bloomfilter" } });
    await store.update("ada", (chain) => chain.record(["a", "b"]));
    expect(await list()).toEqual([expect.stringMatching(/^2::/)]);
    expect(await missing(store, "ada", ["a", "c"])).toEqual(["c"]);
  });

  test("refuses a user whose list would be another one's hash", async () => {
    await expect(open().read("ada:meta")).rejects.toThrow(/must not end in :meta/);
    await expect(open().read("é".repeat(257))).rejects.toMatchObject({ code: "bad-option" });
  });
});

test("a command that a cluster's node refuses while keys move is retried", async () => {
  const refusal = new Error("TRYAGAIN Multiple keys request during rehashing of slot");
  const evalsha = vi.spyOn(redis.client, "evalsha").mockRejectedValueOnce(refusal);
  onTestFinished(() => evalsha.mockRestore());
  const store = redisStore(redis.client);
  await store.update("ada", (chain) => chain.record("a"));
  expect(await missing(store, "ada", ["a", "b"])).toEqual(["b"]);
});

test("two clients read each other's data, with any prefix", async () => {
  const [one, other] = [redis.client, nodeRedis].map((client) => redisStore(client, { prefix: "exposure/" }));
  await one?.update("ada", (chain) => chain.record("a"));
  await other?.update("ada", (chain) => chain.record("b"));
  expect((await redis.client.keys("*")).sort()).toEqual(["exposure/ada", "exposure/ada:meta"]);
  for (const store of [one, other]) expect(store && (await missing(store, "ada", ["a", "b", "c"]))).toEqual(["c"]);
});

test.each(["ioredis", "node-redis"])(
  "an update whose connection is lost is neither lost nor made twice: %s",
  async (name) => {
    const [one, other] = [new Redis(redis.url), createClient({ url: redis.url, socket: { reconnectStrategy: 20 } })];
    other.on("error", () => undefined);
    await other.connect();
    onTestFinished(() => {
      one.disconnect();
      other.destroy();
    });
    const store = redisStore(name === "ioredis" ? one : other);
    await store.update("ada", (chain) => chain.record("before"));
    const updates = idsOf("item", 100).map((id) => store.update("ada", (chain) => chain.record(id)));
    await redis.client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await Promise.all(updates);
    expect(await missing(store, "ada", ["before", ...idsOf("item", 100)])).toEqual([]);
  },
);

test.each([
  ["nothing", undefined],
  ["a client that is not awaited", Promise.resolve({})],
  ["an address", "redis://127.0.0.1"],
  ["another object", {}],
])("redisStore refuses %s", (_, client) => {
  expect(() => redisStore(client as object)).toThrow(/takes a client of ioredis or of redis/);
});

async function bytesReceived(): Promise<number> {
  return Number(/total_net_input_bytes:(\d+)/.exec(await redis.client.info("stats"))?.[1]);
}

describe("seenStore over a custom backend", () => {
  /** A backend whose first loads fail. */
  function failing(times: number, error: Error): { backend: Backend; loads: () => number } {
    let loads = 0;
    const load = (inner: Backend["load"]): Backend["load"] => {
      return (...args) => (++loads > times ? inner(...args) : Promise.reject(error));
    };
    return { backend: withLoad(load), loads: () => loads };
  }

  /** A backend in memory with another `load`. */
  function withLoad(other: (load: Backend["load"]) => Backend["load"]): Backend {
    const inner = memoryBackend();
    return {
      load: other((...args) => inner.load(...args)),
      storePending: (...args) => inner.storePending(...args),
      replace: (...args) => inner.replace(...args),
      forget: (...args) => inner.forget(...args),
    };
  }

  test("retries after transient failures", async () => {
    const { backend, loads } = failing(2, new Error("busy"));
    expect(await seenStore(backend).update("ada", (chain) => chain.record("a"))).toBe(1);
    expect(loads()).toBe(3);
  });

  test("does not retry after permanent failures", async () => {
    const cause = Object.assign(new Error("denied"), { isTransient: false });
    const { backend, loads } = failing(1, cause);
    const store = seenStore(backend, { onError: () => undefined });
    await expect(store.read("ada")).rejects.toThrow(expect.objectContaining({ code: "storage", cause }) as Error);
    expect(loads()).toBe(1);
    expect(await missing(store, "ada", ["a"])).toEqual(["a"]);
  });

  test("uses the backend's clock, unless it has its own", async () => {
    const backend = withLoad((load) => async (...args) => ({ ...(await load(...args)), now: 1_764_000_000 }));
    const store = seenStore(backend);
    await store.forget("ada");
    expect((await store.page("ada", ["a"], { size: 1 })).snapshot?.forgetBefore).toBe(1_764_000_000);
    const later = seenStore(backend, { clock: () => 1_764_000_060 });
    await later.forget("ada");
    expect((await store.page("ada", ["a"], { size: 1 })).snapshot?.forgetBefore).toBe(1_764_000_060);
  });

  test("refuses a value that is not a backend", () => {
    expect(() => seenStore(undefined as unknown as Backend)).toThrow(/takes a backend/);
  });
});
