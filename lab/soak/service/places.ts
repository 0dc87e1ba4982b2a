/** Where users' chains and the stream are, and what goes wrong there: Redis, a Redis Cluster with replicas, Kafka. */
import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Cluster } from "ioredis";
import {
  isMaster,
  isReplicating,
  mastersFor,
  migrateSlotOf,
  startCluster,
  type Node,
} from "../../../tests/service/cluster/nodes.ts";
import { type RunningRedis, startRedis, until } from "../../../tests/support/processes.ts";
import { stopAndWake, type Fault } from "./faults.ts";
import { Link, linkFaults } from "./link.ts";
import { kafkaTopic, redisStream, STREAM, type Stream } from "./streams.ts";

export interface Place {
  readonly name: string;
  /** The address that is passed to a program. */
  urlOf(program: string): string;
  readonly stream: Stream;
  readonly faults: readonly Fault[];
  stop(): Promise<void>;
}

/** What is answered is on the disk. */
const DURABLE = { appendonly: "yes", appendfsync: "always" };
/** How long Redis is full, or a replica is away. */
const WHILE_MS = 3_000;
/** A master that has slept takes itself for one for so long, and what it acknowledges then is lost. */
const AWAKENING_MS = 1_000;

/** What is there to strike at. */
interface Targets {
  /** The key of a user's list in a cluster, another each time. */
  readonly anyKey: () => string;
  /** Each has a link of its own, where it can be given one. */
  readonly programs: readonly string[];
}

export async function singleRedis(directory: string, { programs }: Targets): Promise<Place> {
  const { redis, faults } = await durableRedis(directory);
  const common = await Link.to(Number(new URL(redis.url).port));
  const links = new Map<string, Link>();
  for (const program of programs) links.set(program, await Link.to(common.port));
  const linksFail = [
    ...linkFaults("the link to Redis", () => common),
    ...[...links].flatMap(([program, link]) => linkFaults(`the link of the ${program} to Redis`, () => link)),
  ];
  const stop = async () => {
    for (const link of [...links.values(), common]) link.close();
    await redis.stop();
  };
  const urlOf = (program: string) => `redis://127.0.0.1:${String((links.get(program) ?? common).port)}`;
  return { name: "Redis", urlOf, stream: redisStream(redis.client), faults: [...faults, ...linksFail], stop };
}

/** The chains in a Redis, and the reports in a topic of a broker. */
export async function kafka(directory: string): Promise<Place> {
  const { redis, faults } = await durableRedis(directory);
  const { stream, broker } = await kafkaTopic();
  const ofTheBroker: Fault[] = [
    {
      name: "the broker killed and started again",
      strike: async () => {
        await broker.kill();
        await broker.startAgain();
      },
    },
    {
      name: "the broker stopped for 15 s",
      strike: () => stopAndWake({ hang: () => broker.pause(), wake: () => broker.goOn() }),
    },
  ];
  const stop = async () => {
    await Promise.all([broker.stop(), redis.stop()]);
  };
  return { name: "Kafka", urlOf: () => redis.url, stream, faults: [...faults, ...ofTheBroker], stop };
}

async function durableRedis(directory: string): Promise<{ redis: RunningRedis; faults: Fault[] }> {
  const redis = await startRedis({ ...DURABLE, dir: await mkdtemp(join(directory, "redis-")) });
  const faults = [
    {
      name: "Redis killed and started again",
      strike: async () => {
        await redis.kill();
        await redis.restart();
      },
    },
    { name: "Redis stopped for 15 s", strike: () => stopAndWake(redis) },
    isFull([redis]),
  ];
  return { redis, faults };
}

/**
 * Three masters with a replica each: a master that has lost it takes no writes. The nodes name their links instead of
 * themselves, so all requests to a node, and all data to its replica, go through its link.
 */
export async function redisCluster(directory: string, { anyKey }: Targets): Promise<Place> {
  const own = join(directory, "cluster");
  await mkdir(own);
  const links = new Map<number, Link>();
  const nodes = await startCluster({
    replicas: 1,
    // A replica whose link is silent makes another one before its master takes no more.
    settings: {
      ...DURABLE,
      "min-replicas-to-write": "1",
      "cluster-node-timeout": "2000",
      "repl-ping-replica-period": "1",
      "repl-timeout": "5",
    },
    directory: own,
    announce: async (port) => {
      const link = await Link.to(port);
      links.set(port, link);
      return link.port;
    },
  });
  const url = [...links.values()].map(({ port }) => `redis://127.0.0.1:${String(port)}`).join(",");
  const client = new Cluster(nodes.map((node) => node.url));
  const linkOf = async (key: string) => {
    const { master } = await pairOf(nodes, key);
    const link = links.get(master.port);
    if (link === undefined) throw new Error("a node has no link");
    return link;
  };
  const faults: Fault[] = [
    { name: "master killed, and its replica takes over", strike: () => failOver(nodes, anyKey()) },
    { name: "the stream's master killed, and its replica takes over", strike: () => failOver(nodes, STREAM) },
    { name: "master stopped for 15 s, and its replica takes over", strike: (load) => sleep(nodes, anyKey(), load) },
    {
      name: "the stream's master stopped for 15 s, and its replica takes over",
      strike: (load) => sleep(nodes, STREAM, load),
    },
    {
      name: "replica stopped for 15 s",
      strike: async () => {
        const { replica } = await pairOf(nodes, anyKey());
        await stopAndWake(replica);
        await isReplicating(replica);
      },
    },
    ...linkFaults("the link to a master", () => linkOf(anyKey())),
    ...linkFaults("the link to the stream's master", () => linkOf(STREAM)),
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
    { name: "the stream's slot moved", strike: () => migrateSlotOf(nodes, STREAM) },
    isFull(nodes),
  ];
  const stop = async () => {
    client.disconnect();
    for (const link of links.values()) link.close();
    await Promise.all(nodes.map((node) => node.stop()));
  };
  return { name: "a Redis Cluster", urlOf: () => url, stream: redisStream(client), faults, stop };
}

/** A key's master dies, its replica takes over, and it comes back as a replica. */
async function failOver(nodes: readonly Node[], key: string): Promise<void> {
  const { master, replica } = await pairOf(nodes, key);
  await master.kill();
  await isMaster(replica);
  await master.restart();
  await isReplicating(master);
}

/** The same with one that is stopped, and wakes as the former master. */
async function sleep(nodes: readonly Node[], key: string, load: Parameters<Fault["strike"]>[0]): Promise<void> {
  const { master, replica } = await pairOf(nodes, key);
  await stopAndWake({
    hang: () => master.hang(),
    wake: () => {
      load.storeEvents++;
      master.wake();
    },
  });
  await pause(AWAKENING_MS);
  load.storeEvents++;
  await isMaster(replica);
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
