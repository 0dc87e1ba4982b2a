/** The demo's server in a test, over each of its stores, and what a device asks of it. */
import type { FastifyInstance } from "fastify";
import type { Report } from "seenguard/server";
import { expect, vi } from "vitest";
import { buildApp } from "../../../www/server/app.ts";
import { readCatalogue, type Item } from "../../../www/server/catalogue.ts";
import { MemoryStore } from "../../../www/server/memory/store.ts";
import { Consumer } from "../../../www/server/redis/consumer.ts";
import { RedisStore } from "../../../www/server/redis/store.ts";
import { ProblemLog, type StreamStatus } from "../../../www/server/store.ts";
import { startRedis } from "../../demo/processes.ts";
import { xxh64 } from "../shards.ts";

/** For `vi.waitFor` and its like. */
export const SOON = { timeout: 30_000, interval: 25 };
export const catalogue = await readCatalogue();

export interface Page {
  items: Item[];
  elsewhere?: string[];
  next?: string | null;
  snapshot: {
    version: number;
    shards: string[];
    now: number;
    unseen?: { id: string; at: number }[];
    forgetBefore?: number;
  };
}
export interface Status {
  stream: StreamStatus;
  state: string;
  snapshot?: Page["snapshot"];
}
export interface TestServer {
  readonly app: FastifyInstance;
  stop(): Promise<void>;
}

let people = 0;
export const someone = (): string => `reader-${String(++people)}`;

/** Both stores, each with how to start a server over it. */
export const stores = [
  ["in memory", startInMemory],
  ["in Redis", startInRedis],
] as const;

export function startInMemory(): Promise<TestServer> {
  const store = new MemoryStore(new ProblemLog(() => undefined));
  const app = buildApp({ store, catalogue, logLevel: "silent" });
  return Promise.resolve({
    app,
    stop: async () => {
      await app.close();
      await store.close();
    },
  });
}

export async function startInRedis(): Promise<TestServer> {
  const redis = await startRedis();
  const server = serveRedis(redis.url);
  await vi.waitUntil(async () => (await server.app.inject("/api/status")).statusCode === 200, SOON);
  return {
    app: server.app,
    stop: async () => {
      await server.stop();
      await redis.stop();
    },
  };
}

export function serveRedis(url: string): TestServer {
  const problems = new ProblemLog(() => undefined);
  const store = new RedisStore(url, problems);
  const consumer = new Consumer(url, { name: "server" }, problems);
  const app = buildApp({ store, catalogue, logLevel: "silent" });
  return {
    app,
    stop: async () => {
      await app.close();
      await Promise.all([store.close(), consumer.stop()]);
    },
  };
}

export async function page(
  { app }: TestServer,
  user: string,
  turn: number,
  size = 10,
  headers: Record<string, string> = {},
): Promise<Page> {
  const url = `/api/users/${user}/feed?turn=${String(turn)}&size=${String(size)}`;
  const answer = await app.inject({ url, headers });
  expect(answer.statusCode).toBe(200);
  return answer.json<Page>();
}

export async function pagesOf(server: TestServer, user: string, firstTurn: number, pages: number): Promise<Item[]> {
  const turns = Array.from({ length: pages }, (_, number) => firstTurn + number);
  return (await Promise.all(turns.map((turn) => page(server, user, turn)))).flatMap(({ items }) => items);
}

export function repeats(items: readonly Item[], before: readonly Item[]): Item[] {
  const known = new Set(before.map(({ id }) => id));
  return items.filter(({ id }) => known.has(id));
}

/** The pages of a small pool. */
export async function pool({ app }: TestServer, user: string): Promise<Item[][]> {
  const pages: Item[][] = [];
  for (let next: string | null | undefined = ""; typeof next === "string";) {
    const answer: Page = (await app.inject(`/api/users/${user}/pool?cursor=${next}`)).json();
    pages.push(answer.items);
    next = answer.next;
  }
  return pages;
}

export async function post(server: TestServer, user: string, items: readonly { id: string }[]): Promise<void> {
  await report(server, user, { impressions: items.map(({ id }) => ({ id, at: Date.now() })) });
}

export async function report({ app }: TestServer, user: string, parts: Partial<Report>): Promise<void> {
  const payload: Report = { namespace: user, now: Date.now(), impressions: [], ...parts };
  const answer = await app.inject({ method: "POST", url: `/api/users/${user}/impressions`, payload });
  expect(answer.statusCode).toBe(202);
  expect(answer.json()).toEqual({ accepted: payload.impressions.length + (payload.unseen?.length ?? 0) });
}

/** As the wire format has it: of the shard's text, whatever is in it. */
export function referenceOf(shard: string): string {
  return `~${xxh64(new TextEncoder().encode(shard)).toString(16).padStart(16, "0").slice(0, 12)}`;
}

export async function control({ app }: TestServer, user: string, change: object): Promise<void> {
  const answer = await app.inject({ method: "PUT", url: `/api/users/${user}/stream`, payload: change });
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject(change);
}

export async function status({ app }: TestServer, user: string, state?: string): Promise<Status> {
  const query = state === undefined ? "" : `?state=${state}`;
  return (await app.inject(`/api/users/${user}/status${query}`)).json<Status>();
}

/** Everything that this person reported has left the stream and is in a state other than `version`. */
export async function arrived(server: TestServer, user: string, version = 0): Promise<void> {
  await vi.waitUntil(async () => {
    const { stream, snapshot } = await status(server, user);
    return stream.waiting === 0 && snapshot !== undefined && snapshot.version > version;
  }, SOON);
}
