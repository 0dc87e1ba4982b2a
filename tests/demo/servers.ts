/** The demo's server in a test, and the requests of a device. */
import type { Report } from "seenguard/server";
import { expect, vi } from "vitest";
import type { StreamStatus } from "../../www/server/back-end.ts";
import type { Item } from "../../www/server/catalogue.ts";
import { readCatalogue } from "../../www/server/data.ts";
import { handlerOf } from "../../www/server/handler.ts";
import { MemoryBackEnd } from "../../www/server/memory.ts";

/** For `vi.waitFor` and its like. */
export const SOON = { timeout: 30_000, interval: 25 };
export const catalogue = await readCatalogue();

export interface Page {
  items: Item[];
  snapshot: {
    version: number;
    shards: string[];
    now: number;
  };
}
export interface Status {
  stream: StreamStatus;
  state: string;
  snapshot?: Page["snapshot"];
}

export interface TestServer {
  /** A body that is not a string is sent as JSON. */
  ask(method: string, path: string, body?: unknown): Promise<Response>;
  stop(): Promise<void>;
}

let people = 0;
export const someone = (): string => `reader-${String(++people)}`;

export function startServer(): TestServer {
  const backEnd = new MemoryBackEnd();
  const handler = handlerOf(backEnd, catalogue);
  return {
    ask: (method, path, body) => {
      const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
      return handler(new Request(`http://demo${path}`, { method, ...(text !== undefined && { body: text }) }));
    },
    stop: () => backEnd.close(),
  };
}

export async function page(server: TestServer, user: string, turn: number, size = 10): Promise<Page> {
  const path = `/api/users/${user}/feed?turn=${String(turn)}&size=${String(size)}`;
  const answer = await server.ask("GET", path);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Page;
}

export async function pagesOf(server: TestServer, user: string, firstTurn: number, pages: number): Promise<Item[]> {
  const turns = Array.from({ length: pages }, (_, number) => firstTurn + number);
  return (await Promise.all(turns.map((turn) => page(server, user, turn)))).flatMap(({ items }) => items);
}

export function repeats(items: readonly Item[], before: readonly Item[]): Item[] {
  const known = new Set(before.map(({ id }) => id));
  return items.filter(({ id }) => known.has(id));
}

export async function post(server: TestServer, user: string, items: readonly { id: string }[]): Promise<void> {
  await report(server, user, { impressions: items.map(({ id }) => ({ id, at: Date.now() })) });
}

export async function report(server: TestServer, user: string, parts: Partial<Report>): Promise<void> {
  const body: Report = { namespace: user, now: Date.now(), impressions: [], ...parts };
  expect((await server.ask("POST", `/api/users/${user}/impressions`, body)).status).toBe(204);
}

export async function control(server: TestServer, user: string, change: object): Promise<void> {
  const answer = await server.ask("PUT", `/api/users/${user}/stream`, change);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject(change);
}

export async function flush(server: TestServer, user: string): Promise<void> {
  expect((await server.ask("POST", `/api/users/${user}/flush`)).status).toBe(204);
}

export async function status(server: TestServer, user: string, state?: string): Promise<Status> {
  const query = state === undefined ? "" : `?state=${state}`;
  return (await (await server.ask("GET", `/api/users/${user}/status${query}`)).json()) as Status;
}

/** Resolves when all of this person's reports have left the stream and the snapshot's version is not `version`. */
export async function arrived(server: TestServer, user: string, version = 0): Promise<void> {
  await vi.waitUntil(async () => {
    const { stream, snapshot } = await status(server, user);
    return stream.waiting === 0 && snapshot !== undefined && snapshot.version > version;
  }, SOON);
}
