/**
 * The Redis side of the demo's server, against a real redis-server: many consumers, consumers that are killed, and a
 * store with damage in it.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { MOST_ELEMENTS, recordInto, withChain } from "../../../www/server/chain.ts";
import { connect, type ScriptedRedis } from "../../../www/server/redis/connection.ts";
import { Consumer, type ConsumerOptions } from "../../../www/server/redis/consumer.ts";
import { IMPRESSIONS, PROBLEMS, RECORDERS, UNREADABLE, seenKey } from "../../../www/server/redis/layout.ts";
import { recordSeen } from "../../../www/server/redis/seen-list.ts";
import { ProblemLog } from "../../../www/server/store.ts";
import { foreignFilters } from "../foreign.ts";
import { startConsumer, startRedis, type Running, type RunningRedis } from "../../demo/processes.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
const SOON = { timeout: 60_000, interval: 10 };
const USER = "ada";

let redis: RunningRedis;
let scripted: ScriptedRedis;
const processes: Running[] = [];
const consumers: Consumer[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis.stop();
});
beforeEach(async () => {
  await redis.client.flushall();
  scripted = connect(redis.url, () => undefined);
  await vi.waitUntil(() => scripted.status === "ready", SOON);
});
afterEach(async () => {
  scripted.disconnect();
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
    await recordSeen(scripted, USER, someIds(10, "before"));
    const [one, other] = [someIds(300, "one"), someIds(300, "other")];
    await Promise.all([recordSeen(scripted, USER, one), recordSeen(scripted, USER, other)]);
    expect(await missing(USER, [...one, ...other])).toEqual([]);
  });

  test("an update that read a list which has changed since is refused and changes nothing", async () => {
    await recordSeen(scripted, USER, someIds(10, "before"));
    const [read = ""] = await stored(USER);
    await recordSeen(scripted, USER, someIds(10, "meanwhile"));
    const list = await stored(USER);
    expect(await scripted.updateChain(seenKey(USER), 1, read, 0, MOST_ELEMENTS, 60, "too late")).toBe(0);
    expect(await stored(USER)).toEqual(list);
  });

  test("of two that found no list, the later one is refused", async () => {
    expect(await scripted.updateChain(seenKey(USER), 0, "", 0, MOST_ELEMENTS, 60, "the first")).toBe(1);
    expect(await scripted.updateChain(seenKey(USER), 0, "", 0, MOST_ELEMENTS, 60, "the second")).toBe(0);
    expect(await stored(USER)).toEqual(["the first"]);
  });
});

describe("the list", () => {
  test("one batch that fills the newest shard changes it and puts another on top", async () => {
    await recordSeen(scripted, USER, someIds(900, "before"));
    const [before] = await stored(USER);
    const ids = someIds(1600, "batch");
    await recordSeen(scripted, USER, ids);
    const list = await stored(USER);
    expect(list).toHaveLength(3);
    expect(list).not.toContain(before);
    expect(await missing(USER, [...someIds(900, "before"), ...ids])).toEqual([]);
  });

  test("it holds as many elements as it may, and expires", async () => {
    for (let part = 0; part < 8; part++) await recordSeen(scripted, USER, someIds(1000, `part ${String(part)}`));
    expect((await stored(USER)).length).toBeLessThanOrEqual(MOST_ELEMENTS);
    expect(
      await missing(
        USER,
        [4, 5, 6, 7].flatMap((part) => someIds(1000, `part ${String(part)}`)),
      ),
    ).toEqual([]);
    const ttl = await redis.client.ttl(seenKey(USER));
    expect(ttl).toBeGreaterThan(30 * 24 * 3600);
    expect(ttl).toBeLessThanOrEqual(37.5 * 24 * 3600);
  });

  test("recording what is known already writes nothing", async () => {
    await recordSeen(scripted, USER, someIds(50));
    await redis.client.persist(seenKey(USER));
    await recordSeen(scripted, USER, someIds(50));
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
  test("an unreadable newest element is reported and replaced, and the others go on", async () => {
    const sealed = await listOf(someIds(1000, "sealed"));
    await redis.client.rpush(seenKey(USER), "no shard at all", ...sealed);
    await addToStream(USER, someIds(5));
    startHere({ name: "consumer" });
    await everythingRecorded();
    expect(await rejected(USER)).toEqual([]);
    expect(await missing(USER, [...someIds(5), ...someIds(1000, "sealed")])).toEqual([]);
    expect(await problems()).toContainEqual(
      expect.stringContaining("element 0 of the stored shards could not be read"),
    );
  });

  test("an unreadable element further down is taken out, and what lies around it stays", async () => {
    const [newest = "", oldest = ""] = [await listOf(someIds(20, "new")), await listOf(someIds(1000, "old"))].flat();
    await redis.client.rpush(seenKey(USER), newest, "damaged", oldest);
    await addToStream(USER, someIds(5));
    startHere({ name: "consumer" });
    await everythingRecorded();
    expect(await rejected(USER)).toEqual([]);
    expect(await missing(USER, [...someIds(5), ...someIds(20, "new"), ...someIds(1000, "old")])).toEqual([]);
    expect(await problems()).toContainEqual(
      expect.stringContaining("element 1 of the stored shards could not be read"),
    );
  });

  test("an entry that is no impression is set aside, and those behind it are recorded", async () => {
    await redis.client.xadd(IMPRESSIONS, "*", "something", "else");
    await addToStream(USER, someIds(5));
    startHere({ name: "consumer" });
    await everythingRecorded();
    expect(await missing(USER, someIds(5))).toEqual([]);
    expect(await redis.client.xlen(UNREADABLE)).toBe(1);
    expect(await problems()).toContainEqual(expect.stringContaining("is no impression"));
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

async function addToStream(user: string, ids: readonly string[]): Promise<void> {
  const additions = redis.client.pipeline();
  for (const id of ids) additions.xadd(IMPRESSIONS, "*", "user", user, "id", id, "at", "1764000000000");
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
  return withChain(await stored(user), (chain) => ids.filter((id) => !chain.has(id)));
}

async function rejected(user: string): Promise<unknown> {
  return withChain(await stored(user), (chain) => [...chain.rejected]);
}

/** The elements of a list with these ids in it. */
async function listOf(ids: readonly string[]): Promise<readonly string[]> {
  return (await recordInto([], ids)).shards;
}

async function problems(): Promise<string[]> {
  const texts = await redis.client.lrange(PROBLEMS, 0, -1);
  return texts.map((text) => (JSON.parse(text) as { what: string }).what);
}
