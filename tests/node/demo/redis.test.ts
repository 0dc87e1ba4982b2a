/**
 * The Redis side of the demo's server, against a real redis-server: many consumers, consumers that are killed, and a
 * store with damage in it.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { memoryStore, redisStore, type SeenStore, type Snapshot } from "seenguard/server";
import { CHAIN_OPTIONS, withChain } from "../../../www/server/chain.ts";
import { Consumer, type ConsumerOptions } from "../../../www/server/redis/consumer.ts";
import { IMPRESSIONS, PROBLEMS, RECORDERS, UNREADABLE, metaKey, seenKey } from "../../../www/server/redis/layout.ts";
import { ProblemLog } from "../../../www/server/store.ts";
import { foreignFilters } from "../foreign.ts";
import { startConsumer, startRedis, type Running, type RunningRedis } from "../../demo/processes.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
const SOON = { timeout: 60_000, interval: 10 };
const USER = "ada";
const SHARD = CHAIN_OPTIONS.capacity;

let redis: RunningRedis;
let store: SeenStore;
const processes: Running[] = [];
const consumers: Consumer[] = [];

beforeAll(async () => {
  redis = await startRedis();
  store = redisStore(redis.client, CHAIN_OPTIONS);
});
afterAll(async () => {
  await redis.stop();
});
beforeEach(async () => {
  await redis.client.flushall();
});
afterEach(async () => {
  await Promise.all(processes.splice(0).map((running) => running.stop("SIGKILL")));
  await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
});

describe("many consumers", () => {
  test("two consumers of one person lose none of 4,000 ids", async () => {
    const ids = someIds(4000);
    await addToStream(USER, ids);
    for (const name of ["first", "second"]) await startProcess(name, { BATCH_SIZE: "10" });
    await everythingRecorded();
    expect(await missing(USER, ids)).toEqual([]);
  });

  test("two updates at once of the same list both end up in it", async () => {
    await recordSeen(USER, someIds(10, "before"));
    const [one, other] = [someIds(300, "one"), someIds(300, "other")];
    await Promise.all([recordSeen(USER, one), recordSeen(USER, other)]);
    expect(await missing(USER, [...one, ...other])).toEqual([]);
  });
});

describe("what was taken back", () => {
  test("an item that was seen and taken back is fresh, and seen once it is recorded again", async () => {
    await recordSeen(USER, someIds(10));
    await addToStream(USER, ["id 3", "id 4"], "unseen");
    startHere({ name: "consumer" });
    await everythingRecorded();
    expect(await missing(USER, someIds(10))).toEqual(["id 3", "id 4"]);
    expect(Object.keys(await redis.client.hgetall(metaKey(seenKey(USER)))).sort()).toEqual([
      "revision",
      "unseen:id 3",
      "unseen:id 4",
    ]);
    await addToStream(USER, ["id 3"], "seen");
    await everythingRecorded();
    expect(await missing(USER, someIds(10))).toEqual(["id 4"]);
  });

  test("an impression from before that arrives late changes nothing", async () => {
    await recordSeen(USER, someIds(1));
    await addToStream(USER, someIds(1), "unseen", Date.now() - 1000);
    await addToStream(USER, someIds(1), "seen", Date.now() - 2000);
    startHere({ name: "consumer" });
    await everythingRecorded();
    expect(await missing(USER, someIds(1))).toEqual(someIds(1));
  });

  test("the newest 1,000 are kept, and expire with the list", async () => {
    await recordSeen(USER, someIds(1100));
    const from = Date.now() - 10_000;
    for (const [number, id] of someIds(1100).entries()) await addToStream(USER, [id], "unseen", from + number);
    startHere({ name: "consumer" });
    await everythingRecorded();
    const { unseen = [] } = await snapshot(USER);
    expect(unseen.map(({ id }) => id).sort()).toEqual(someIds(1100).slice(100).sort());
    const [list, hash] = [await redis.client.ttl(seenKey(USER)), await redis.client.ttl(metaKey(seenKey(USER)))];
    expect(Math.abs(list - hash)).toBeLessThanOrEqual(1);
    expect(hash).toBeGreaterThan(30 * 24 * 3600);
  });

  test("two consumers at once lose nothing of what the other one takes in, list or hash", async () => {
    await recordSeen(USER, someIds(200, "old"));
    for (let part = 0; part < 20; part++) {
      await addToStream(USER, someIds(200, "old").slice(part * 10, part * 10 + 10), "unseen");
      await addToStream(USER, someIds(10, `new ${String(part)}`), "seen");
    }
    for (const name of ["first", "second"]) await startProcess(name, { BATCH_SIZE: "5" });
    await everythingRecorded();
    const recorded = Array.from({ length: 20 }, (_, part) => someIds(10, `new ${String(part)}`)).flat();
    expect(await missing(USER, [...someIds(200, "old"), ...recorded])).toEqual(someIds(200, "old"));
  });

  test("any id may be taken back, whatever is in it", async () => {
    const ids = ["", "forgetBefore", "unseen:", "__proto__", "7", "a\nb", "a\u0000b", "🙂", "新闻"];
    await recordSeen(USER, ids);
    await addToStream(USER, ids, "unseen");
    startHere({ name: "consumer" });
    await everythingRecorded();
    expect(await missing(USER, ids)).toEqual(ids);
  });
});

describe("a history that was deleted", () => {
  test("leaves no list, and what arrives late from before it does not count", async () => {
    await recordSeen(USER, someIds(600));
    await store.update(USER, (chain) => {
      chain.forget();
    });
    expect(await stored(USER)).toEqual([]);
    const { forgetBefore = 0 } = await snapshot(USER);
    expect(Math.abs(forgetBefore - Date.now() / 1000)).toBeLessThan(10);
    await addToStream(USER, someIds(10, "late"), "seen", forgetBefore * 1000 - 5000);
    await vi.waitUntil(() => Date.now() > forgetBefore * 1000, SOON);
    await addToStream(USER, someIds(10, "new"), "seen");
    startHere({ name: "consumer" });
    await everythingRecorded();
    const all = [...someIds(10), ...someIds(10, "late"), ...someIds(10, "new")];
    expect(await missing(USER, all)).toEqual([...someIds(10), ...someIds(10, "late")]);
    expect((await snapshot(USER)).forgetBefore).toBe(forgetBefore);
  });
});

describe("the list", () => {
  test("one batch that fills the newest shard changes it and puts another on top", async () => {
    await recordSeen(USER, someIds(SHARD - 50, "before"));
    const [before] = await stored(USER);
    const ids = someIds(SHARD + 100, "batch");
    await recordSeen(USER, ids);
    const list = await stored(USER);
    expect(list).toHaveLength(3);
    expect(list).not.toContain(before);
    expect(await missing(USER, [...someIds(SHARD - 50, "before"), ...ids])).toEqual([]);
  });

  test("it holds as many elements as it may, and expires", async () => {
    const part = (number: number): string[] => someIds(SHARD, `part ${String(number)}`);
    const parts = CHAIN_OPTIONS.shards + 3;
    for (let number = 0; number < parts; number++) await recordSeen(USER, part(number));
    expect((await stored(USER)).length).toBeLessThanOrEqual(2 * CHAIN_OPTIONS.shards);
    for (let number = 4; number < parts; number++) expect(await missing(USER, part(number))).toEqual([]);
    const ttl = await redis.client.ttl(seenKey(USER));
    expect(ttl).toBeGreaterThan(30 * 24 * 3600);
    expect(ttl).toBeLessThanOrEqual(37.5 * 24 * 3600);
  });

  test("recording what is known already writes nothing", async () => {
    await recordSeen(USER, someIds(50));
    await redis.client.persist(seenKey(USER));
    await recordSeen(USER, someIds(50));
    expect(await redis.client.ttl(seenKey(USER))).toBe(-1);
  });
});

describe("kept as go-bloomfilter records", () => {
  test("the list that the Go library wrote goes on as the library itself would have gone on", async () => {
    const filters = foreignFilters().filter(({ format, chain }) => typeof format === "object" && chain?.shards === 5);
    const recorded = (count: number) => filters.find(({ inserted }) => inserted === count);
    const [before, after] = [recorded(4300), recorded(5900)];
    const ids = before?.ids.slice(before.inserted, after?.inserted) ?? [];
    expect(ids).toHaveLength(1600);
    await redis.client.rpush(seenKey(USER), ...(before?.shards.flat() ?? []));
    await addToStream(USER, ids);
    await startProcess("continuing", { SHARD_FORMAT: "go-bloomfilter" });
    await everythingRecorded();
    expect(await stored(USER)).toEqual(after?.shards);
    expect(await problems()).toEqual([]);
  });

  test("a format that no store is kept in is refused, and says which are", async () => {
    await expect(startProcess("mistaken", { SHARD_FORMAT: "guava" })).rejects.toThrow(
      /SHARD_FORMAT is guava: it must be seenguard or go-bloomfilter/,
    );
  });
});

describe("a consumer that dies", () => {
  test("SIGKILL in the middle, again and again, loses nothing", async () => {
    const ids = someIds(4000);
    await addToStream(USER, ids);
    for (const left of [3900, 3400, 2900, 2400]) {
      const consumer = await startProcess("mortal", { BATCH_SIZE: "5" });
      await vi.waitUntil(async () => (await redis.client.xlen(IMPRESSIONS)) < left, SOON);
      await consumer.stop("SIGKILL");
    }
    expect(await redis.client.xlen(IMPRESSIONS)).toBeGreaterThan(0);
    await startProcess("mortal");
    await everythingRecorded();
    expect(await missing(USER, ids)).toEqual([]);
  });

  test("started again, it records what it had been given and not acknowledged", async () => {
    const ids = someIds(30);
    await addToStream(USER, ids);
    await takeWithoutAcknowledging("mortal");
    startHere({ name: "mortal" });
    await everythingRecorded();
    expect(await missing(USER, ids)).toEqual([]);
  });

  test("never started again, its impressions are taken over by another", async () => {
    const ids = someIds(30);
    await addToStream(USER, ids);
    await takeWithoutAcknowledging("gone for good");
    startHere({ name: "heir", abandonedAfterMs: 200 });
    await everythingRecorded();
    expect(await missing(USER, ids)).toEqual([]);
  });
});

describe("damage", () => {
  const cut = (shard = "") => shard.slice(0, 40);

  test("an unreadable newest element is reported and replaced, and the others go on", async () => {
    const sealed = await listOf(someIds(SHARD, "sealed"));
    await redis.client.rpush(seenKey(USER), cut(sealed[0]), ...sealed);
    await addToStream(USER, someIds(5));
    startHere({ name: "consumer" });
    await everythingRecorded();
    expect(await rejected(USER)).toEqual([]);
    expect(await missing(USER, [...someIds(5), ...someIds(SHARD, "sealed")])).toEqual([]);
    expect(await problems()).toContainEqual(
      expect.stringContaining("element 0 of the stored shards could not be read"),
    );
  });

  test("an unreadable element further down is taken out, and what lies around it stays", async () => {
    const [newest = "", oldest = ""] = [await listOf(someIds(20, "new")), await listOf(someIds(SHARD, "old"))].flat();
    await redis.client.rpush(seenKey(USER), newest, cut(newest), oldest);
    await addToStream(USER, someIds(5));
    startHere({ name: "consumer" });
    await everythingRecorded();
    expect(await rejected(USER)).toEqual([]);
    expect(await missing(USER, [...someIds(5), ...someIds(20, "new"), ...someIds(SHARD, "old")])).toEqual([]);
    expect(await problems()).toContainEqual(
      expect.stringContaining("element 1 of the stored shards could not be read"),
    );
  });

  test("an entry that is no event is set aside, and those behind it are recorded", async () => {
    await redis.client.xadd(IMPRESSIONS, "*", "something", "else");
    await addToStream(USER, someIds(5));
    startHere({ name: "consumer" });
    await everythingRecorded();
    expect(await missing(USER, someIds(5))).toEqual([]);
    expect(await redis.client.xlen(UNREADABLE)).toBe(1);
    expect(await problems()).toContainEqual(expect.stringContaining("is no event"));
  });

  test("a person whose key is no list keeps nobody else waiting, and is recorded once it is gone", async () => {
    await redis.client.set(seenKey("broken"), "a string");
    await addToStream("broken", someIds(5));
    await addToStream(USER, someIds(5));
    startHere({ name: "consumer", abandonedAfterMs: 200 });
    await vi.waitUntil(async () => (await missing(USER, someIds(5))).length === 0, SOON);
    await redis.client.del(seenKey("broken"));
    await everythingRecorded();
    expect(await missing("broken", someIds(5))).toEqual([]);
  });

  test("a store that is flushed under a running consumer is filled again", async () => {
    startHere({ name: "consumer" });
    await addToStream(USER, someIds(5, "before"));
    await everythingRecorded();
    await redis.client.flushall();
    await addToStream(USER, someIds(5, "after"));
    await everythingRecorded();
    expect(await missing(USER, someIds(5, "after"))).toEqual([]);
  });
});

function someIds(count: number, kind = "id"): string[] {
  return Array.from({ length: count }, (_, number) => `${kind} ${String(number)}`);
}

async function recordSeen(user: string, ids: readonly string[]): Promise<void> {
  await store.update(user, (chain) => chain.record(ids));
}

async function addToStream(
  user: string,
  ids: readonly string[],
  kind: "seen" | "unseen" = "seen",
  at = Date.now(),
): Promise<void> {
  const additions = redis.client.pipeline();
  for (const id of ids) additions.xadd(IMPRESSIONS, "*", "user", user, "kind", kind, "id", id, "at", String(at));
  await additions.exec();
}

/** Every entry that is in the stream now goes to this consumer, which then does nothing any more. */
async function takeWithoutAcknowledging(consumer: string): Promise<void> {
  await redis.client.xgroup("CREATE", IMPRESSIONS, RECORDERS, "0");
  await redis.client.xreadgroup("GROUP", RECORDERS, consumer, "COUNT", 1000, "STREAMS", IMPRESSIONS, ">");
}

async function startProcess(name: string, env: Record<string, string> = {}): Promise<Running> {
  const running = await startConsumer(redis.url, name, env);
  processes.push(running);
  return running;
}

function startHere(options: ConsumerOptions): void {
  consumers.push(new Consumer(redis.url, options, new ProblemLog(() => undefined)));
}

/** Entries are deleted when they have been recorded and acknowledged. */
async function everythingRecorded(): Promise<void> {
  await vi.waitUntil(async () => (await redis.client.xlen(IMPRESSIONS)) === 0, SOON);
}

function stored(user: string): Promise<string[]> {
  return redis.client.lrange(seenKey(user), 0, -1);
}

async function missing(user: string, ids: readonly string[]): Promise<string[]> {
  return withChain(store.read(user), (chain) => ids.filter((id) => !chain.has(id)));
}

function snapshot(user: string): Promise<Snapshot> {
  return withChain(store.read(user), (chain) => chain.snapshot());
}

async function rejected(user: string): Promise<unknown> {
  return withChain(store.read(user), (chain) => [...chain.rejected]);
}

/** The elements of a list with these ids in it. */
function listOf(ids: readonly string[]): Promise<readonly string[]> {
  return memoryStore(CHAIN_OPTIONS).update(USER, (chain) => {
    chain.record(ids);
    return chain.snapshot().shards;
  });
}

async function problems(): Promise<string[]> {
  const texts = await redis.client.lrange(PROBLEMS, 0, -1);
  return texts.map((text) => (JSON.parse(text) as { what: string }).what);
}
