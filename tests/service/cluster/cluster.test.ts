/** `redisStore` on a Redis Cluster, while consumers are killed and a slot moves from node to node. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { redisStore, type SeenStore } from "seenguard/server";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { pendingListOf } from "../../support/shards.ts";
import { CHAIN, GROUP, migrateSlotOf, type Node, startCluster, STREAM } from "./nodes.ts";

const USERS = 250;
const IMPRESSIONS_EACH = 40;
const KILL_EVERY_MS = 1000;
const BATCHES_EACH_LIFE = 10;
const root = fileURLToPath(new URL("../../..", import.meta.url));
const PROGRAM = `${root}target/cluster/consumer.mjs`;

let nodes: Node[];
let cluster: Cluster;
let nodeRedis: ReturnType<typeof createCluster>;
beforeAll(async () => {
  // Plain JavaScript starts faster: a consumer must work for longer than its start takes.
  const entryPoints = [`${root}tests/service/cluster/consumer.ts`];
  await build({ entryPoints, outfile: PROGRAM, bundle: true, packages: "external", platform: "node", format: "esm" });
  nodes = await startCluster();
  const url = `redis://127.0.0.1:${String(nodes[0]?.port)}`;
  cluster = new Cluster([url], { slotsRefreshTimeout: 10_000 });
  nodeRedis = createCluster({ rootNodes: [{ url }] });
  await nodeRedis.connect();
});
afterAll(async () => {
  cluster.disconnect();
  nodeRedis.destroy();
  await Promise.all(nodes.map((node) => node.stop()));
});

const userOf = (number: number) => `user-${String(number % USERS)}`;
const idOf = (number: number) => `article-${String(number)}`;
const idsOf = (user: number) => Array.from({ length: IMPRESSIONS_EACH }, (_, round) => idOf(user + round * USERS));

async function unreadable(store: SeenStore, user: number): Promise<unknown[]> {
  const chain = await store.read(userOf(user));
  const wrong = [...chain.rejected, ...chain.filter(idsOf(user))];
  chain.free();
  return wrong;
}

describe("a Redis Cluster of three nodes", () => {
  test("stores list and hash of a user in one slot, whichever client writes them", async () => {
    for (const [user, client] of [
      ["ada", cluster],
      ["eve", nodeRedis],
    ] as const) {
      const store = redisStore(client, CHAIN);
      await store.update(user, (chain) => chain.record(["a", "b"]));
      await store.update(user, (chain) => {
        chain.unsee("b");
      });
      const chain = await store.read(user);
      expect(chain.filter(["a", "b", "c"])).toEqual(["b", "c"]);
      chain.free();
      expect(await cluster.llen(`seen:{${user}}`)).toBe(1);
      expect((await cluster.hkeys(`seen:{${user}}:meta`)).sort()).toEqual(["revision", "unseen:b"]);
    }
  });

  test("stores all keys of a user in one slot for any name, and separate keys for each user", async () => {
    for (const [index, client] of [cluster, nodeRedis].entries()) {
      for (const prefix of ["seen:", "seen{}:", "{", "{}", "}", "a{b"]) {
        const store = redisStore(client, { ...CHAIN, prefix: prefix + String(index) });
        const users = ["}", "}x", "{}", "{", "a}b", "%7D", "a{b}c", "{a}", "a"];
        for (const user of users) {
          const now = Date.now();
          const pending = `0123456789ab.1.0.${pendingListOf([`${user} pending`])}`;
          const report = { namespace: user, now, impressions: [{ id: user, at: now }], pending };
          await store.ingest(user, await store.accept(user, report));
          await store.update(user, (chain) => chain.record("unseen"));
          await store.unsee(user, "unseen");
        }
        for (const user of users) {
          const ranked = [...users, ...users.map((user) => `${user} pending`), "unseen"];
          const { items } = await store.page(user, ranked, { size: 100 });
          expect(items).toEqual(ranked.filter((id) => id !== user && id !== `${user} pending`));
        }
        for (const user of users) await store.forget(user);
      }
    }
  });

  test("loses nothing while consumers are killed every second and a slot is migrated", async () => {
    await cluster.xgroup("CREATE", STREAM, GROUP, "0", "MKSTREAM");
    await addImpressions();
    const consumers = ["ioredis", "node-redis", "ioredis", "node-redis"].map((client, index) => {
      const args = [String(nodes[0]?.port), `consumer-${String(index)}`, client];
      return new Consumer(args);
    });
    let kills = 0;
    const killing = setInterval(() => {
      const next = consumers.find((consumer) => consumer.isAtWork());
      if (next === undefined) return;
      kills++;
      void next.restart();
    }, KILL_EVERY_MS);
    const left = () => cluster.xlen(STREAM);
    try {
      await vi.waitUntil(async () => (await left()) < (USERS * IMPRESSIONS_EACH) / 2, { timeout: 300_000 });
      const target = await migrateSlotOf(nodes, `seen:{${userOf(7)}}`);
      expect(await target.client.llen(`seen:{${userOf(7)}}`)).toBeGreaterThan(0);
      expect(await left()).toBeGreaterThan(0);
      await vi.waitUntil(async () => (await left()) < 500, { timeout: 300_000, interval: 200 });
      clearInterval(killing);
      await vi.waitUntil(async () => (await left()) === 0, { timeout: 60_000, interval: 200 });
    } finally {
      clearInterval(killing);
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    }
    expect(kills).toBeGreaterThan(3);
    for (const client of [cluster, nodeRedis]) {
      const store = redisStore(client, CHAIN);
      for (let user = 0; user < USERS; user++) expect(await unreadable(store, user), userOf(user)).toEqual([]);
    }
  });
});

/** The impressions of all users, in turn. */
async function addImpressions(): Promise<void> {
  for (let number = 0; number < USERS * IMPRESSIONS_EACH;) {
    const additions = cluster.pipeline();
    for (const end = number + 1000; number < end; number++)
      additions.xadd(STREAM, "*", "user", userOf(number), "id", idOf(number), "at", String(Date.now()));
    await additions.exec();
  }
}

class Consumer {
  private readonly args: readonly string[];
  private process: ChildProcess;
  /** How many batches it has acknowledged since it was started. */
  private batches = 0;
  private isOver = false;

  constructor(args: readonly string[]) {
    this.args = args;
    this.process = this.launch();
  }

  /** Whether it has done some work: otherwise a slow machine would never make progress. */
  isAtWork(): boolean {
    return this.batches >= BATCHES_EACH_LIFE;
  }

  async restart(): Promise<void> {
    this.batches = 0;
    await this.kill();
    if (!this.isOver) this.process = this.launch();
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.kill();
  }

  /** Kills it by SIGKILL, at any moment. */
  private async kill(): Promise<void> {
    const ended = once(this.process, "exit");
    if (this.process.kill("SIGKILL")) await ended;
  }

  private launch(): ChildProcess {
    const child = spawn(process.execPath, [PROGRAM, ...this.args], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.on("data", () => this.batches++);
    return child;
  }
}
