/** A master of a Redis Cluster with all slots, its replica, and their statistics. */
import { setTimeout as pause } from "node:timers/promises";
import { Cluster, Redis } from "ioredis";
import { freePort } from "../../../scripts/lib/processes.mjs";
import { startRedis } from "../../../scripts/lib/redis.mjs";

export interface Master {
  /** A server's client of the cluster. */
  readonly cluster: Cluster;
  /** A client of the node itself. */
  readonly node: Redis;
  readonly port: number;
  readonly busPort: number;
}

/** Starts a master, ends it after `use`. */
export async function withMaster<T>(use: (master: Master) => Promise<T>): Promise<T> {
  const { server, node, busPort, stop } = await startNode();
  await node.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await until(async () => String(await node.call("CLUSTER", "INFO")).includes("cluster_state:ok"));
  const cluster = new Cluster([{ host: "127.0.0.1", port: server.port }]);
  try {
    return await use({ cluster, node, port: server.port, busPort });
  } finally {
    cluster.disconnect();
    await stop();
  }
}

/** Starts a replica that follows, ends it after `use`. */
export async function withReplica<T>({ node, port, busPort }: Master, use: () => Promise<T>): Promise<T> {
  const replica = await startNode();
  try {
    await replica.node.call("CLUSTER", "MEET", "127.0.0.1", String(port), String(busPort));
    const master = String(await node.call("CLUSTER", "MYID"));
    await until(async () => String(await replica.node.call("CLUSTER", "NODES")).includes(master));
    await replica.node.call("CLUSTER", "REPLICATE", master);
    await until(async () => (await infoOf(node)).get("slave0")?.includes("state=online") === true);
    return await use();
  } finally {
    await replica.stop();
  }
}

async function startNode() {
  const busPort = await freePort();
  const server = await startRedis({
    "cluster-enabled": "yes",
    "cluster-port": busPort,
    "cluster-announce-ip": "127.0.0.1",
  });
  const node = new Redis(server.port, "127.0.0.1");
  const stop = async () => {
    node.disconnect();
    await server.stop();
  };
  return { server, node, busPort, stop };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    if (await isSo()) return;
    await pause(100);
  }
  throw new Error("the local Redis Cluster does not form");
}

export type Info = ReadonlyMap<string, string>;

export async function infoOf(redis: Redis): Promise<Info> {
  const lines = (await redis.info("everything")).split("\r\n");
  const fields = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1)];
  });
  return new Map(fields);
}

export function numberIn(info: Info, name: string): number {
  const value = Number(info.get(name));
  if (Number.isNaN(value)) throw new Error(`INFO has no number ${name}`);
  return value;
}

/** Seconds of processor time of the thread that runs all commands. */
export const mainThreadSeconds = (info: Info): number =>
  numberIn(info, "used_cpu_user_main_thread") + numberIn(info, "used_cpu_sys_main_thread");
