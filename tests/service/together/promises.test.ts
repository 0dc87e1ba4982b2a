/** Every store keeps the promises of `seenguard/server/testing`: in memory, and in Redis through each client. */
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { memoryStore, redisStore, type SeenStore, type StoreOptions } from "seenguard/server";
import { promises } from "seenguard/server/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { startCluster } from "../cluster/nodes.ts";

const PROMISES = 13;

const ends: (() => unknown)[] = [];
const clients = new Map<string, object>();
beforeAll(async () => {
  const redis = await startRedis();
  const nodes = await startCluster();
  const url = `redis://127.0.0.1:${String(nodes[0]?.port)}`;
  const ioredis = new Redis(redis.url);
  const nodeRedis = createClient({ url: redis.url });
  const ioredisCluster = new Cluster([url], { slotsRefreshTimeout: 10_000 });
  const nodeRedisCluster = createCluster({ rootNodes: [{ url }] });
  await Promise.all([nodeRedis.connect(), nodeRedisCluster.connect()]);
  for (const [name, client] of Object.entries({ ioredis, nodeRedis, ioredisCluster, nodeRedisCluster }))
    clients.set(name, client);
  ends.push(
    () => ioredis.disconnect(),
    () => nodeRedis.destroy(),
    () => ioredisCluster.disconnect(),
    () => nodeRedisCluster.destroy(),
    () => redis.stop(),
    ...nodes.map((node) => () => node.stop()),
  );
});
afterAll(async () => {
  for (const end of ends) await end();
});

type Make = (name: string, options: StoreOptions) => SeenStore;
const over = (client: string): Make => {
  // Each with another prefix.
  return (name, options) => redisStore(clients.get(client) ?? {}, { ...options, prefix: `${client} ${name}:` });
};
const stores: [string, Make][] = [
  ["memoryStore", (_, options) => memoryStore(options)],
  ["redisStore over ioredis", over("ioredis")],
  ["redisStore over node-redis", over("nodeRedis")],
  ["redisStore over ioredis and a cluster", over("ioredisCluster")],
  ["redisStore over node-redis and a cluster", over("nodeRedisCluster")],
];

describe.each(stores)("%s", (_, make) => {
  const all = promises(make);
  test("is tested by all promises", () => {
    expect(all).toHaveLength(PROMISES);
  });
  for (const promise of all) test(promise.name, () => promise.check());
});
