/** The topologies (Redis, a Redis Cluster with replicas, Kafka) with their faults. */
import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
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

export interface Topology {
  readonly name: string;
  /** The address for a program. */
  urlOf(program: string): string;
  readonly stream: Stream;
  readonly faults: readonly Fault[];
  stop(): Promise<void>;
}

/** Settings with which acknowledged writes are on the disk. */
const DURABLE = { appendonly: "yes", appendfsync: "always" };
/** The time for which Redis is full, or a replica is down. */
const WHILE_MS = 3_000;
/** The time in which a resumed former master still acknowledges writes, which are lost. */
const AWAKENING_MS = 1_000;

/** The targets of faults. */
interface Targets {
  /** The key of a user's list in a cluster, another each time. */
  readonly anyKey: () => string;
  /** The programs. Each has a link of its own, if the topology supports that. */
  readonly programs: readonly string[];
}

export async function singleRedis(directory: string, { programs }: Targets): Promise<Topology> {
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
  return {
    name: "Redis",
    urlOf,
    stream: redisStream(() => Promise.resolve(redis.client)),
    faults: [...faults, ...linksFail],
    stop,
  };
}

/** The chains in a Redis, and the reports in a topic of a broker; clients reach each through a link. */
export async function kafka(directory: string): Promise<Topology> {
  const { redis, faults } = await durableRedis(directory);
  const toRedis = await Link.to(Number(new URL(redis.url).port));
  const { stream, broker, link: toBroker } = await kafkaTopic();
  const ofTheBroker: Fault[] = [
    {
      part: "the broker",
      kind: "killed",
      inject: async () => {
        await broker.kill();
        await broker.restart();
      },
    },
    {
      part: "the broker",
      kind: "stopped",
      inject: () => stopAndWake({ hang: () => broker.pause(), wake: () => broker.resume() }),
    },
    ...linkFaults("the link to Redis", () => toRedis),
    ...linkFaults("the link to the broker", () => toBroker),
  ];
  const stop = async () => {
    for (const link of [toRedis, toBroker]) link.close();
    await Promise.all([broker.stop(), redis.stop()]);
  };
  const url = `redis://127.0.0.1:${String(toRedis.port)}`;
  return { name: "Kafka", urlOf: () => url, stream, faults: [...faults, ...ofTheBroker], stop };
}

async function durableRedis(directory: string): Promise<{ redis: RunningRedis; faults: Fault[] }> {
  const redis = await startRedis({ ...DURABLE, dir: await mkdtemp(join(directory, "redis-")) });
  const faults: Fault[] = [
    {
      part: "Redis",
      kind: "killed",
      inject: async () => {
        await redis.kill();
        await redis.restart();
      },
    },
    { part: "Redis", kind: "stopped", inject: () => stopAndWake(redis) },
    isFull([redis]),
  ];
  return { redis, faults };
}

/**
 * Three masters with a replica each. A master without its replica refuses writes. The nodes announce the addresses of
 * their links, so that all requests to a node, and all data to its replica, go through its link.
 */
export async function redisCluster(directory: string, { anyKey }: Targets): Promise<Topology> {
  const own = join(directory, "cluster");
  await mkdir(own);
  const links = new Map<number, Link>();
  const nodes = await startCluster({
    replicas: 1,
    // A replica whose link is silent reconnects before its master refuses writes.
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
  const linkOf = async (key: string) => {
    const { master } = await pairOf(nodes, key);
    const link = links.get(master.port);
    if (link === undefined) throw new Error("a node has no link");
    return link;
  };
  const faults: Fault[] = [
    { part: "a master", kind: "failover", inject: () => failOver(nodes, anyKey()) },
    { part: "the stream's master", kind: "failover", inject: () => failOver(nodes, STREAM) },
    { part: "a master", kind: "stoppedMaster", inject: (load) => stopMaster(nodes, anyKey(), load) },
    { part: "the stream's master", kind: "stoppedMaster", inject: (load) => stopMaster(nodes, STREAM, load) },
    {
      part: "a replica",
      kind: "stopped",
      inject: async () => {
        const { replica } = await pairOf(nodes, anyKey());
        await stopAndWake(replica);
        await isReplicating(replica);
      },
    },
    ...linkFaults("the link to a master", () => linkOf(anyKey())),
    ...linkFaults("the link to the stream's master", () => linkOf(STREAM)),
    {
      part: "a replica",
      kind: "killed",
      inject: async () => {
        const { replica } = await pairOf(nodes, anyKey());
        await replica.kill();
        await pause(WHILE_MS);
        await replica.restart();
        await isReplicating(replica);
      },
    },
    {
      part: "a replica",
      kind: "requested",
      inject: async () => {
        const { master, replica } = await pairOf(nodes, anyKey());
        await replica.client.call("CLUSTER", "FAILOVER");
        await isMaster(replica);
        await isReplicating(master);
      },
    },
    { part: "a user", kind: "slot", inject: () => migrateSlotOf(nodes, anyKey()) },
    { part: "the stream", kind: "slot", inject: () => migrateSlotOf(nodes, STREAM) },
    isFull(nodes),
  ];
  const stop = async () => {
    for (const link of links.values()) link.close();
    await Promise.all(nodes.map((node) => node.stop()));
  };
  return {
    name: "a Redis Cluster",
    urlOf: () => url,
    stream: redisStream(async () => (await pairOf(nodes, STREAM)).master.client),
    faults,
    stop,
  };
}

/** Kills a key's master, waits until its replica takes over, and restarts it as a replica. */
async function failOver(nodes: readonly Node[], key: string): Promise<void> {
  const { master, replica } = await pairOf(nodes, key);
  await master.kill();
  await isMaster(replica);
  await master.restart();
  await isReplicating(master);
}

/** Suspends a key's master, waits until its replica takes over, and resumes it. */
async function stopMaster(nodes: readonly Node[], key: string, load: Parameters<Fault["inject"]>[0]): Promise<void> {
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

/** The master of a key and its replica, once the cluster knows both. */
async function pairOf(nodes: readonly Node[], key: string): Promise<{ master: Node; replica: Node }> {
  let pair: { master: Node; replica: Node } | undefined;
  await until(`the nodes know of a replica for ${key}`, async () => {
    const [[master, replica] = []] = await mastersFor(nodes, key);
    pair = master && replica && { master, replica };
    return pair !== undefined;
  });
  if (pair === undefined) throw new Error("the pair was found before");
  return pair;
}

/** The fault of a full Redis, which refuses commands that need memory. */
function isFull(servers: readonly RunningRedis[]): Fault {
  const limit = (bytes: string) => Promise.all(servers.map(({ client }) => client.config("SET", "maxmemory", bytes)));
  const inject = async () => {
    await limit("1");
    await pause(WHILE_MS);
    await limit("0");
  };
  return { part: "Redis", kind: "full", inject };
}
