/** Where users' chains are, and what goes wrong there: a Redis, and a Redis Cluster with replicas. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Cluster, type Redis } from "ioredis";
import { isMaster, isReplicating, mastersFor, migrateSlotOf, startCluster, type Node } from "../../cluster/nodes.ts";
import { startRedis, type RunningRedis } from "../../demo/processes.ts";
import { until } from "../../waiting.ts";
import type { Fault } from "./faults.ts";

export interface Place {
  readonly name: string;
  /** What the programs are given. */
  readonly url: string;
  readonly client: Redis | Cluster;
  readonly faults: readonly Fault[];
  stop(): Promise<void>;
}

/** What is answered is on the disk. */
const DURABLE = { appendonly: "yes", appendfsync: "always" };
/** How long Redis is full, or a replica is away. */
const WHILE_MS = 3_000;

/** What is there to strike at. */
interface Keys {
  /** The key of a user's list in a cluster, another each time. */
  readonly anyKey: () => string;
  readonly stream: string;
}

export async function singleRedis(directory: string): Promise<Place> {
  const own = join(directory, "redis");
  await mkdir(own);
  const redis = await startRedis({ ...DURABLE, dir: own });
  const isKilled: Fault = {
    name: "Redis killed and started again",
    strike: async () => {
      await redis.kill();
      await redis.restart();
    },
  };
  const { url, client } = redis;
  return { name: "Redis", url, client, faults: [isKilled, isFull([redis])], stop: () => redis.stop() };
}

/** Three masters with a replica each: a master that has lost it takes no writes. */
export async function redisCluster(directory: string, { anyKey, stream }: Keys): Promise<Place> {
  const own = join(directory, "cluster");
  await mkdir(own);
  const settings = { ...DURABLE, "min-replicas-to-write": "1", "cluster-node-timeout": "2000" };
  const nodes = await startCluster({ replicas: 1, settings, directory: own });
  const url = nodes.map((node) => node.url).join(",");
  const client = new Cluster(nodes.map((node) => node.url));
  const faults: Fault[] = [
    { name: "master killed, and its replica takes over", strike: () => failOver(nodes, anyKey()) },
    { name: "the stream's master killed, and its replica takes over", strike: () => failOver(nodes, stream) },
    {
      name: "replica killed and started again",
      strike: async () => {
        const { replica } = await pairOf(nodes, anyKey());
        await replica.kill();
        await pause(WHILE_MS);
        await replica.restart();
        await isReplicating(replica);
      },
    },
    {
      name: "failover on demand",
      strike: async () => {
        const { master, replica } = await pairOf(nodes, anyKey());
        await replica.client.call("CLUSTER", "FAILOVER");
        await isMaster(replica);
        await isReplicating(master);
      },
    },
    { name: "a user's slot moved", strike: () => migrateSlotOf(nodes, anyKey()) },
    { name: "the stream's slot moved", strike: () => migrateSlotOf(nodes, stream) },
    isFull(nodes),
  ];
  const stop = async () => {
    client.disconnect();
    await Promise.all(nodes.map((node) => node.stop()));
  };
  return { name: "a Redis Cluster", url, client, faults, stop };
}

/** A key's master dies, its replica takes over, and it comes back as a replica. */
async function failOver(nodes: readonly Node[], key: string): Promise<void> {
  const { master, replica } = await pairOf(nodes, key);
  await master.kill();
  await isMaster(replica);
  await master.restart();
  await isReplicating(master);
}

/** The master of a key, and its replica: once the others know of one that has come back. */
async function pairOf(nodes: readonly Node[], key: string): Promise<{ master: Node; replica: Node }> {
  let pair: { master: Node; replica: Node } | undefined;
  await until(`the nodes know of a replica for ${key}`, async () => {
    const [[master, replica] = []] = await mastersFor(nodes, key);
    pair = master && replica && { master, replica };
    return pair !== undefined;
  });
  if (pair === undefined) throw new Error("it was there");
  return pair;
}

/** It takes nothing that needs memory. */
function isFull(servers: readonly RunningRedis[]): Fault {
  const limit = (bytes: string) => Promise.all(servers.map(({ client }) => client.config("SET", "maxmemory", bytes)));
  const strike = async () => {
    await limit("1");
    await pause(WHILE_MS);
    await limit("0");
  };
  return { name: "Redis full", strike };
}
