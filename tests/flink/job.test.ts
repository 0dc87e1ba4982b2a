/** The job on a standalone cluster: TaskManagers die, the job is rescaled, and others change the same lists. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { SeenGuard } from "seenguard";
import { ShardChain, type SeenStore } from "seenguard/server";
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { FlinkCluster } from "../../examples/flink/cluster.mjs";
import { buildJob } from "../../examples/flink/job.mjs";
import { startRedis, type RunningRedis } from "../demo/processes.ts";
import {
  CHAIN,
  IMPRESSIONS_EACH,
  STREAMS,
  addImpressions,
  idsOf,
  incomplete,
  nameOf,
  readStreams,
  rotated,
  storeOf,
  streamOf,
  undisturbedList,
  type Entry,
} from "./stream.ts";

const usersFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);
/** 5,000 users with 40 impressions each. */
const calm = usersFrom(0, 1500);
const disturbed = [usersFrom(1500, 1000), usersFrom(2500, 1000)];
const rescaled = usersFrom(3500, 1500);
/** In one round, each of the users has one impression at most. */
const ROUND_MS = 250;
/** When a twelfth of the users is about to begin a new shard in each round. */
const KILL_ROUND = 30;

let failed = false;
let directory: string;
let jar: string;
let redis: RunningRedis;
let store: SeenStore;
let cluster: FlinkCluster;
let job: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "seenguard-flink-"));
  jar = await buildJob();
  redis = await startRedis();
  store = storeOf(redis.client);
  cluster = await FlinkCluster.start(directory);
});
afterAll(async () => {
  await cluster.stop();
  await redis.stop();
  if (failed) console.error(`Flink's logs are in ${directory}`);
  else rmSync(directory, { recursive: true, force: true });
});

const figures = (line: string): void => console.log(`  … ${line}`);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const submit = (parallelism: number, savepoint?: string): Promise<string> =>
  cluster.submit(jar, {
    redis: redis.url,
    streams: STREAMS,
    chain: CHAIN,
    parallelism,
    ...(savepoint !== undefined && { savepoint }),
  });

/** Until the lists answer for all of the users' impressions. */
async function stored(users: readonly number[]): Promise<void> {
  const left = [...users];
  await cluster.until("all impressions are in the lists", async () => {
    // A few at a time: to ask is work, too.
    const asked = left.splice(0, 100);
    left.unshift(...(await incomplete(store, asked)));
    return left.length === 0;
  });
}

/** Until nothing of what was stored would be read again after a failure. */
async function checkpointed(): Promise<void> {
  const { completed } = await cluster.checkpoints(job);
  await cluster.until("two checkpoints", async () => (await cluster.checkpoints(job)).completed >= completed + 2);
}

/** From a moment on, until impressions of all of these users are stored. Adds one for each. */
async function untilStored(users: readonly string[]): Promise<number> {
  const start = performance.now();
  const additions = redis.client.pipeline();
  for (const [index, user] of users.entries())
    additions.xadd(streamOf(index), "*", "user", user, "id", "probe", "at", String(Date.now()));
  await additions.exec();
  await cluster.until("the impressions are stored", async () => {
    return (await redis.client.exists(...users.map((user) => `seen:${user}`))) === users.length;
  });
  return performance.now() - start;
}

interface Header {
  readonly count: number;
  readonly epoch: number;
}

function headerOf(shard: string): Header {
  const bytes = Buffer.from(shard, "base64");
  return { count: bytes.readUInt32LE(12), epoch: bytes.readUInt32LE(24) };
}

/** Which of the ids each shard of a list contains, the oldest first. */
async function contentsOf(list: readonly string[], ids: readonly string[]): Promise<Set<string>[]> {
  const contents: Set<string>[] = [];
  for (const shard of [...list].reverse()) {
    const chain = await ShardChain.from([shard], CHAIN);
    contents.push(new Set(ids.filter((id) => chain.has(id))));
    chain.free();
  }
  return contents;
}

const isEqual = (one: readonly Set<string>[], other: readonly Set<string>[]): boolean =>
  one.length === other.length &&
  one.every((ids, index) => ids.size === other[index]?.size && [...ids].every((id) => other[index]?.has(id)));

/** Expects a list to be that of a stream of which one stretch was read twice. Returns whether it makes a difference. */
async function expectReadAgain(user: number, entries: readonly Entry[]): Promise<boolean> {
  const list = await redis.client.lrange(`seen:${nameOf(user)}`, 0, -1);
  const undisturbed = await undisturbedList(entries);
  if (isSameList(list, undisturbed)) return false;
  const contents = await contentsOf(list, idsOf(user));
  const ids = entries.map(({ id }) => id);
  const isReadAgain = ids.some((_, end) =>
    ids.slice(0, end + 1).some((_, from) => isEqual(rotated([...ids.slice(0, end + 1), ...ids.slice(from)]), contents)),
  );
  expect(isReadAgain, nameOf(user)).toBe(true);
  // The first epoch is when the first impression arrived, and the others count on from there.
  const first = headerOf(undisturbed.at(-1) ?? "").epoch;
  const headers = contents.map(({ size }, index) => ({ count: size, epoch: first + index }));
  expect(list.map(headerOf).reverse()).toEqual(headers);
  return true;
}

const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((shard, index) => shard === other[index]);

async function expectUndisturbed(users: readonly number[], streams: ReadonlyMap<string, Entry[]>): Promise<void> {
  for (const user of users) {
    const list = await redis.client.lrange(`seen:${nameOf(user)}`, 0, -1);
    expect(list, nameOf(user)).toEqual(await undisturbedList(streams.get(nameOf(user)) ?? []));
  }
}

describe("the job", () => {
  test("takes in what waits in the streams", async () => {
    onTestFailed(() => void (failed = true));
    await addImpressions(redis.client, calm);
    job = await submit(2);
    const start = performance.now();
    await stored(calm);
    const entries = (await Promise.all(STREAMS.map((stream) => redis.client.xlen(stream)))).reduce((a, b) => a + b);
    figures(`2 slots: ${String(entries)} entries that waited, in ${seconds(performance.now() - start)}`);
    await checkpointed();
    await expectUndisturbed(calm, await readStreams(redis.client));
  });

  test("loses nothing when a TaskManager is killed, twice", async () => {
    onTestFailed(() => void (failed = true));
    for (const [kill, users] of disturbed.entries()) {
      // The first time another one is started then, the second time it is there already.
      const hasSpare = kill === 1;
      if (hasSpare) cluster.addTaskManager();
      await cluster.hasSlots(hasSpare ? 3 : 2);
      const probes = Array.from({ length: 16 }, (_, index) => `probe-${String(kill)}-${String(index)}`);
      let recovery = Promise.resolve(0);
      let round = 0;
      await addImpressions(redis.client, users, async () => {
        await wait(ROUND_MS);
        if (++round !== KILL_ROUND) return;
        await cluster.killTaskManager();
        if (!hasSpare) cluster.addTaskManager();
        recovery = untilStored(probes);
      });
      const how = hasSpare ? "with a spare one" : "another is started";
      figures(`a TaskManager is killed, ${how}: stored again after ${seconds(await recovery)}`);
      await stored(users);
      await checkpointed();
    }
    const streams = await readStreams(redis.client);
    await expectUndisturbed(calm, streams);
    let different = 0;
    for (const user of disturbed.flat())
      different += Number(await expectReadAgain(user, streams.get(nameOf(user)) ?? []));
    figures(`${String(different)} of ${String(disturbed.flat().length)} lists have ids that were inserted twice`);
  });

  test("goes on from a savepoint with 4 slots instead of 2", async () => {
    onTestFailed(() => void (failed = true));
    let stopped: Promise<string> | undefined;
    let round = 0;
    await addImpressions(redis.client, rescaled, async () => {
      if (++round === 20) stopped = cluster.stopWithSavepoint(job);
      await wait(100);
    });
    cluster.addTaskManager();
    cluster.addTaskManager();
    await cluster.hasSlots(4);
    job = await submit(4, await stopped);
    const start = performance.now();
    await stored(rescaled);
    figures(`4 slots: what waited of ${String(rescaled.length)} users, in ${seconds(performance.now() - start)}`);
    await checkpointed();
    await expectUndisturbed([...calm, ...rescaled], await readStreams(redis.client));
  });

  test("has kept 200,000 impressions of 5,000 users, and a guard takes each list", async () => {
    onTestFailed(() => void (failed = true));
    const all = [...calm, ...disturbed.flat(), ...rescaled];
    expect(all.length * IMPRESSIONS_EACH).toBe(200_000);
    expect(await incomplete(store, all)).toEqual([]);
    for (const user of all) {
      const chain = await store.read(nameOf(user));
      expect(chain.rejected).toEqual([]);
      const guard = await SeenGuard.open({ namespace: `home:${nameOf(user)}`, storage: "none" });
      expect(guard.apply(chain.snapshot())).toMatchObject({ applied: true });
      expect(guard.filter([...idsOf(user), "fresh"])).toEqual(["fresh"]);
      await guard.close();
      chain.free();
    }
    const { bytes, medianMs, mostMs } = await cluster.checkpoints(job);
    figures(`a checkpoint: ${String(bytes)} bytes, ${String(medianMs)} ms, at most ${String(mostMs)} ms`);
    expect(bytes).toBeLessThan(10_000);
  });

  test("goes on when Redis has cut its connections and forgotten the scripts", async () => {
    onTestFailed(() => void (failed = true));
    const users = usersFrom(20_000, 200);
    let round = 0;
    await addImpressions(redis.client, users, async () => {
      await wait(50);
      if (++round === 20) await redis.client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      if (round !== 40) return;
      await untilStored(["probe-connected"]);
      await redis.client.script("FLUSH");
    });
    await stored(users);
    const failures = (await cluster.failures(job)).join();
    expect(failures).toContain("Redis has closed the connection");
    expect(failures).toContain("NOSCRIPT");
  });

  test("shares the lists with other writers", async () => {
    onTestFailed(() => void (failed = true));
    const users = usersFrom(10_000, 100);
    // No more than the chain has room for beside the stream's, however fast the machine is.
    const MOST_OTHERS = 100;
    let isOver = false;
    const others = users.map(async (user) => {
      const recorded: string[] = [];
      while (!isOver && recorded.length < MOST_OTHERS) {
        const id = `other-${String(recorded.length)}`;
        await store.update(nameOf(user), (chain) => chain.record(id));
        recorded.push(id);
      }
      return recorded;
    });
    await addImpressions(redis.client, users, () => wait(20));
    isOver = true;
    const recorded = await Promise.all(others);
    await stored(users);
    for (const [index, user] of users.entries()) {
      const chain = await store.read(nameOf(user));
      expect(recorded[index]).not.toEqual([]);
      expect(chain.filter(recorded[index] ?? [])).toEqual([]);
      chain.free();
    }
  });

  test("lets nothing from before a deletion or a taking back count", async () => {
    onTestFailed(() => void (failed = true));
    const add = (user: string, fields: Record<string, string>) =>
      redis.client.xadd(STREAMS[0] ?? "", "*", "user", user, ...Object.entries(fields).flat());
    const freshOf = async (user: string): Promise<string[]> => {
      const chain = await store.read(user);
      const fresh = chain.filter(["a", "b", "c"]);
      chain.free();
      return fresh;
    };
    const users = ["eve", "bob", "joe"];
    const before = { at: String(Date.now()) };
    for (const user of users) for (const id of ["a", "b"]) await add(user, { id, ...before });
    const areStored = async () => (await Promise.all(users.map(freshOf))).every((fresh) => fresh.join() === "c");
    await cluster.until("they are stored", areStored);
    await store.update("eve", (chain) => chain.forget());
    await store.update("bob", (chain) => chain.unsee("a"));
    await add("joe", { kind: "unseen", id: "b", at: String(Date.now()) });
    // A deletion is up to the end of its second.
    await wait(1000);
    for (const user of users) {
      for (const id of ["a", "b"]) await add(user, { id, ...before });
      await add(user, { kind: "neither", id: "c", ...before });
      await add(user, { id: "c", at: "yesterday" });
      await add(user, { id: "c", at: String(Date.now()) });
    }
    const takeC = async () => (await Promise.all(users.map(freshOf))).every((fresh) => !fresh.includes("c"));
    await cluster.until("they are stored", takeC);
    expect(await freshOf("eve")).toEqual(["a", "b"]);
    expect(await freshOf("bob")).toEqual(["a"]);
    expect(await freshOf("joe")).toEqual(["b"]);
  });
});
