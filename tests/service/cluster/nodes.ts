/** A Redis Cluster on the loopback: nodes that can be killed, their replicas, and the migration of a slot. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { ChainOptions } from "seenguard/server";
import { freePort } from "../../../scripts/lib/processes.mjs";
import { type RunningRedis, startRedis, until } from "../../support/processes.ts";

/** The names that the test and its consumers share. */
export const STREAM = "impressions";
export const GROUP = "recorders";
export const CHAIN: ChainOptions = { capacity: 25, shards: 10, falsePositiveRate: 0.0001, ttlSeconds: 30 * 86_400 };

const SLOTS = 16_384;
const MASTERS = 3;

export interface Node extends RunningRedis {
  readonly port: number;
  readonly id: string;
}

export interface ClusterOptions {
  /** Of each master. */
  readonly replicas?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** The nodes' files, each in a directory of its own, so that a restarted node has its data. */
  readonly directory?: string;
  /** The port that clients and replicas use instead of a node's own. */
  readonly announce?: (port: number) => Promise<number>;
}

/** The masters, then their replicas in the same order. */
export async function startCluster(options: ClusterOptions = {}): Promise<Node[]> {
  const count = MASTERS * (1 + (options.replicas ?? 0));
  const nodes = await Promise.all(Array.from({ length: count }, (_, index) => startNode(index, options)));
  const masters = nodes.slice(0, MASTERS);
  for (const [index, { client, busPort, port }] of nodes.entries()) {
    await client.call("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
    await masters[0]?.client.call("CLUSTER", "MEET", "127.0.0.1", String(port), String(busPort));
  }
  for (const [index, { client }] of masters.entries()) {
    const [from, to] = [index, index + 1].map((part) => Math.round((part * SLOTS) / MASTERS));
    await client.call("CLUSTER", "ADDSLOTSRANGE", String(from), String(Number(to) - 1));
  }
  for (const { client } of nodes)
    await until("the nodes are a cluster", async () => {
      const info = String(await client.call("CLUSTER", "INFO"));
      return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${String(count)}`);
    });
  for (const [index, replica] of nodes.slice(MASTERS).entries()) {
    await replica.client.call("CLUSTER", "REPLICATE", masters[index % MASTERS]?.id ?? "");
    await isReplicating(replica);
  }
  return nodes;
}

async function startNode(
  index: number,
  { settings = {}, directory, announce }: ClusterOptions,
): Promise<Node & { busPort: number }> {
  const [port, busPort] = [await freePort(), await freePort()];
  const own = directory === undefined ? {} : { dir: join(directory, String(index)) };
  if (own.dir !== undefined) await mkdir(own.dir);
  const redis = await startRedis({
    "cluster-enabled": "yes",
    port: String(port),
    "cluster-port": String(busPort),
    ...(announce && { "cluster-announce-port": String(await announce(port)) }),
    "cluster-node-timeout": "5000",
    "repl-diskless-sync-delay": "0",
    ...settings,
    ...own,
  });
  const id = String(await redis.client.call("CLUSTER", "MYID"));
  return { ...redis, port, busPort, id };
}

/** Resolves when a node is a replica that is in sync with its master. */
export async function isReplicating({ client }: Node): Promise<void> {
  await until("a replica has all", async () => (await client.info("replication")).includes("master_link_status:up"));
}

/** Resolves when a node is a master. */
export async function isMaster({ client }: Node): Promise<void> {
  await until("a node is a master", async () => (await client.info("replication")).includes("role:master"));
}

/** A range of slots with its master and replicas, each by host, port and id. */
type SlotRange = [from: number, to: number, master: SlotNode, ...replicas: SlotNode[]];
type SlotNode = [host: string, port: number, id: string];

/** The masters, each with the replicas that it has now; the one with a key's slot first. */
export async function mastersFor(nodes: readonly Node[], key: string): Promise<[master: Node, ...replicas: Node[]][]> {
  const [any] = nodes;
  if (any === undefined) throw new Error("there are no nodes");
  const slot = Number(await any.client.call("CLUSTER", "KEYSLOT", key));
  const ranges = (await any.client.call("CLUSTER", "SLOTS")) as SlotRange[];
  const [owners, others] = [ranges.filter(([from, to]) => from <= slot && slot <= to), ranges];
  const groups = new Map<string, [Node, ...Node[]]>();
  for (const [, , ...group] of [...owners, ...others]) {
    const [master, ...replicas] = group.map(([, , id]) => nodes.find((node) => node.id === id));
    if (master === undefined) throw new Error("a slot's master is not one of the nodes");
    groups.set(master.id, [master, ...replicas.filter((replica) => replica !== undefined)]);
  }
  return [...groups.values()];
}

/** Moves a key's slot to another master, as `redis-cli --cluster reshard` does, with pauses. Returns its new owner. */
export async function migrateSlotOf(nodes: readonly Node[], key: string): Promise<Node> {
  const masters = (await mastersFor(nodes, key)).map(([master]) => master);
  const [source, target] = masters;
  if (source === undefined || target === undefined) throw new Error("there are no two masters");
  const slot = String(await source.client.call("CLUSTER", "KEYSLOT", key));
  const setSlot = (node: Node, ...what: string[]) => node.client.call("CLUSTER", "SETSLOT", slot, ...what);
  await setSlot(target, "IMPORTING", source.id);
  await setSlot(source, "MIGRATING", target.id);
  await wait(300);
  const keys = (await source.client.call("CLUSTER", "GETKEYSINSLOT", slot, "1000")) as string[];
  for (const moved of keys) {
    await source.client.call("MIGRATE", "127.0.0.1", String(target.port), moved, "0", "5000");
    await wait(300);
  }
  for (const node of [target, ...masters]) await setSlot(node, "NODE", target.id);
  return target;
}
