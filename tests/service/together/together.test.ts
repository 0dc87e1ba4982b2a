/** The service in Rust and `redisStore` in Node serve the same users at the same time, over one Redis or one cluster. */
import { Cluster, Redis } from "ioredis";
import { redisStore, type Page, type SeenStore, type Snapshot } from "seenguard/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { buildService, startService } from "../../../scripts/lib/service.mjs";
import { startCluster } from "../cluster/nodes.ts";
import { Device } from "../../support/shards.ts";

const POOL = Array.from({ length: 12 }, (_, index) => `article-${String(index)}`);
const namespaceOf = (user: string) => `home:${user}`;
/** The number of writers of each kind of server. */
const WRITERS = 3;
const USERS = 8;
const IMPRESSIONS_EACH = 30;

interface Deployment {
  readonly client: Redis | Cluster;
  readonly url: string;
  readonly isCluster?: boolean;
  stop(): Promise<void>;
}

const deployments: [string, () => Promise<Deployment>][] = [
  [
    "a single Redis",
    async () => {
      const server = await startRedis();
      const client = new Redis(server.url);
      return { client, url: server.url, stop: () => server.stop() };
    },
  ],
  [
    "a Redis Cluster",
    async () => {
      const nodes = await startCluster();
      const url = `redis://127.0.0.1:${String(nodes[0]?.port)}`;
      const client = new Cluster([url], { slotsRefreshTimeout: 10_000 });
      const stop = async () => {
        await Promise.all(nodes.map((node) => node.stop()));
      };
      return { client, url, stop, isCluster: true };
    },
  ],
];

describe.each(deployments)("over %s", (_, open) => {
  let deployment: Deployment;
  let service: Awaited<ReturnType<typeof startService>>;
  let node: SeenStore;
  beforeAll(async () => {
    deployment = await open();
    const cluster = deployment.isCluster ? ["--cluster"] : [];
    const options = ["--redis", deployment.url, ...cluster, "--namespace", "home:{user}"];
    service = await startService(await buildService(), options);
    node = redisStore(deployment.client, { namespaceOf });
  });
  afterAll(async () => {
    await service.stop();
    deployment.client.disconnect();
    await deployment.stop();
  });

  async function rust(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await fetch(`${service.url}/v1/users/${path}`, {
      method,
      headers: { "Content-Type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect(answer.ok, `${method} ${path}: ${text}`).toBe(true);
    return text === "" ? undefined : (JSON.parse(text) as unknown);
  }

  /** The page of both, which must be equal. */
  async function pageOfBoth(user: string, { pending, held }: { pending?: string; held?: string } = {}) {
    const ofNode = await node.page(user, POOL, { size: 5, pending, held });
    const headers = {
      ...(pending !== undefined && { "Seen-Pending": pending }),
      ...(held !== undefined && { "Seen-Held": held }),
    };
    const ofRust = (await rust("POST", `${user}/page`, { ranked: POOL, size: 5 }, headers)) as Page<string>;
    expect(withoutTime(ofRust)).toEqual(withoutTime(ofNode));
    return ofRust;
  }

  test("each has the ids that the other has recorded, stored as pending, made unseen or deleted", async () => {
    const [phone, laptop] = [new Device("home:ada", 1), new Device("home:ada", 2)];
    await node.update("ada", (chain) => chain.record(["article-0", "article-1"]));
    await rust("POST", "ada/impressions", phone.report(["article-2", "article-3"]));
    const { items, snapshot } = await pageOfBoth("ada");
    expect(items).toEqual(POOL.slice(4, 9));
    expect(snapshot?.shards).toHaveLength(1);

    // Devices' pending lists: each was sent to one of the servers.
    await node.page("ada", POOL, { size: 1, pending: phone.pending(["article-4"]) });
    await rust("POST", "ada/page", { ranked: POOL, size: 1 }, { "Seen-Pending": laptop.pending(["article-5"]) });
    expect((await pageOfBoth("ada")).items).toEqual(POOL.slice(6, 11));

    await node.unsee("ada", ["article-1"]);
    await rust("POST", "ada/unsee", { ids: ["article-3"] });
    const after = await pageOfBoth("ada");
    expect(after.items).toEqual(["article-1", "article-3", ...POOL.slice(6, 9)]);
    expect(after.snapshot?.unseen).toHaveLength(2);

    await rust("DELETE", "ada/history");
    const empty = await pageOfBoth("ada");
    expect([empty.items, empty.snapshot?.shards]).toEqual([POOL.slice(0, 5), []]);
    expect(empty.snapshot?.forgetBefore).toBeGreaterThan(0);
  });

  test("when both write the same users at once, nothing is lost", async () => {
    const userOf = (user: number) => `user-${String(user)}`;
    const idOf = (writer: string, user: number, round: number) => `${writer}-${String(user)}-${String(round)}`;
    const writers: [string, (user: string, id: string) => Promise<unknown>][] = [];
    for (let writer = 0; writer < WRITERS; writer++) {
      writers.push([`node-${String(writer)}`, (user, id) => node.update(user, (chain) => chain.record(id))]);
      writers.push([
        `rust-${String(writer)}`,
        (user, id) => {
          const now = Date.now();
          const report = { namespace: namespaceOf(user), now, impressions: [{ id, at: now }] };
          return rust("POST", `${user}/impressions`, report);
        },
      ]);
    }
    await Promise.all(
      writers.map(async ([writer, write]) => {
        for (let round = 0; round < IMPRESSIONS_EACH; round++)
          for (let user = 0; user < USERS; user++) await write(userOf(user), idOf(writer, user, round));
      }),
    );
    for (let user = 0; user < USERS; user++) {
      const ids = writers.flatMap(([writer]) =>
        Array.from({ length: IMPRESSIONS_EACH }, (_, round) => idOf(writer, user, round)),
      );
      const chain = await node.read(userOf(user));
      expect([chain.rejected, chain.filter(ids)]).toEqual([[], []]);
      const { shards } = chain.snapshot();
      chain.free();
      const ofRust = (await rust("GET", `${userOf(user)}/snapshot`)) as Snapshot;
      expect(ofRust.shards).toEqual(shards);
    }
  });
});

/** Removes the times: two responses may be a second apart. */
function withoutTime({ items, next, snapshot }: Page<string>) {
  const { now, ...others } = snapshot ?? { shards: [] };
  expect(now).toBeGreaterThan(0);
  return { items, next, snapshot: others };
}
