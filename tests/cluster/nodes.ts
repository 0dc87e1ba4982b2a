/** A Redis Cluster of three nodes on the loopback, and the migration of a slot. */
import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import { vi } from "vitest";
import { freePort } from "../../scripts/lib/ports.mjs";
import { startRedis } from "../../scripts/lib/redis.mjs";

const SLOTS = 16_384;
const NODES = 3;
const SOON = { timeout: 30_000, interval: 50 };

export interface Node {
  readonly port: number;
  readonly id: string;
  readonly client: Redis;
  stop(): Promise<void>;
}

export async function startCluster(): Promise<Node[]> {
  const nodes = await Promise.all(Array.from({ length: NODES }, startNode));
  const [first] = nodes;
  for (const [index, { client, busPort, port }] of nodes.entries()) {
    const [from, to] = [index, index + 1].map((part) => Math.round((part * SLOTS) / NODES));
    await client.call("CLUSTER", "ADDSLOTSRANGE", String(from), String(Number(to) - 1));
    await client.call("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
    await first?.client.call("CLUSTER", "MEET", "127.0.0.1", String(port), String(busPort));
  }
  for (const { client } of nodes)
    await vi.waitUntil(async () => {
      const info = String(await client.call("CLUSTER", "INFO"));
      return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${String(NODES)}`);
    }, SOON);
  return nodes;
}

async function startNode(): Promise<Node & { busPort: number }> {
  const busPort = await freePort();
  const server = await startRedis({ "cluster-enabled": "yes", "cluster-port": busPort, "cluster-node-timeout": 5000 });
  const { port } = server;
  const client = new Redis(port, { retryStrategy: () => 100, maxRetriesPerRequest: null });
  client.on("error", () => undefined); // once the server has ended
  const id = String(await client.call("CLUSTER", "MYID"));
  const stop = async () => {
    client.disconnect();
    await server.stop();
  };
  return { port, busPort, id, client, stop };
}

/** Moves a key's slot to the next node, as `redis-cli --cluster reshard` does, with pauses. Returns its new owner. */
export async function migrateSlotOf(nodes: readonly Node[], key: string): Promise<Node> {
  const slot = String(await nodes[0]?.client.call("CLUSTER", "KEYSLOT", key));
  const owner = nodes.findIndex((_, index) => Number(slot) < Math.round(((index + 1) * SLOTS) / NODES));
  const [source, target] = [nodes[owner], nodes[(owner + 1) % NODES]];
  if (source === undefined || target === undefined) throw new Error("there are no nodes");
  const setSlot = (node: Node, ...what: string[]) => node.client.call("CLUSTER", "SETSLOT", slot, ...what);
  await setSlot(target, "IMPORTING", source.id);
  await setSlot(source, "MIGRATING", target.id);
  await wait(300);
  const keys = (await source.client.call("CLUSTER", "GETKEYSINSLOT", slot, "1000")) as string[];
  for (const moved of keys) {
    await source.client.call("MIGRATE", "127.0.0.1", String(target.port), moved, "0", "5000");
    await wait(300);
  }
  for (const node of [target, source, ...nodes]) await setSlot(node, "NODE", target.id);
  return target;
}
