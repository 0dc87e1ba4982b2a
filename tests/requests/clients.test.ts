/**
 * The recipes of docs/clients.md: clients in Node with a server over HTTP, a cache and a switch of accounts in Chromium.
 */
import express from "express";
import { buildSchema, graphql } from "graphql";
import type { SeenGuard } from "seenguard";
import { memoryStore, seenOf, type Page } from "seenguard/server";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openExample, KNOWN, type OpenPage } from "../docs/browser.ts";
import { examplesOf } from "../docs/examples.ts";
import { heldBy, idsOf, openGuard } from "../support/node.js";
import { mastodon, recipes, type Item, type Post, type Recipe } from "./recipes.js";

const USER = "ada";
const SIZE = 10;
const RANKED = idsOf("article", 100).map((id) => ({ id }));

let store: ReturnType<typeof memoryStore>;
/** The requests for pages, and their responses, oldest first. */
let served: { seen: ReturnType<typeof seenOf>; page: Page<Item> }[];
let baseUrl: string;
let stop: () => void;

beforeAll(async () => {
  const server = feedServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  baseUrl = `http://127.0.0.1:${String((server.address() as { port: number }).port)}`;
  stop = () => {
    server.close();
    server.closeAllConnections();
  };
});
afterAll(() => stop());

beforeEach(() => {
  store = memoryStore({ namespaceOf: (user) => `home:${user}` });
  served = [];
});

/** The feed in each form that a recipe requests. Only requests for a page have the headers. */
function feedServer(): express.Express {
  const pageFor = async (request: unknown, cursor: unknown) => {
    const seen = seenOf(request);
    const page = await store.page(USER, RANKED, { size: SIZE, cursor: cursor as string, ...seen });
    served.push({ seen, page });
    return page;
  };
  const app = express();
  app.get("/api/feed", async (request, response) => {
    response.json(await pageFor(request, request.query.cursor));
  });
  app.get("/api/posts", async (request, response) => {
    const { items, next, snapshot } = await pageFor(request, request.query.page_cursor);
    response.json({ posts: items.map(({ id }) => ({ post: { ap_id: id } })), next_page: next, snapshot });
  });
  // The unchanged list of another provider, which does not use Seenguard.
  app.get("/api/v1/timelines/home", (request, response) => {
    const start = RANKED.findIndex(({ id }) => id === request.query.max_id) + 1;
    response.json(RANKED.slice(start, start + SIZE));
  });
  app.get("/seen", async (request, response) => {
    const { snapshot } = await store.page(USER, [], { size: 1, ...seenOf(request) });
    response.json({ snapshot });
  });
  app.post("/graphql", express.json(), async (request, response) => {
    const { query, variables } = request.body as { query: string; variables: Record<string, unknown> };
    let snapshot: unknown;
    const feed = async ({ cursor }: { cursor?: string }) => {
      const page = await pageFor(request, cursor);
      snapshot = page.snapshot;
      return page;
    };
    const answer = await graphql({ schema: SCHEMA, source: query, variableValues: variables, rootValue: { feed } });
    response.json({ ...answer, extensions: { snapshot } });
  });
  return app;
}

const SCHEMA = buildSchema(`
  scalar Snapshot
  type Item { id: ID! }
  type Page { items: [Item!]!, next: String, snapshot: Snapshot }
  type Query { feed(cursor: String): Page! }
`);

const idsIn = ({ items }: { items: readonly (Item | Post)[] }) =>
  items.map((item) => ("post" in item ? item.post.ap_id : item.id));

/** Opens lists that return at least this number of fresh items with each call. */
function openerOf({ fetchPageOf, idOf }: Recipe) {
  return (guard: SeenGuard, baseUrl: string) => {
    const feed = guard.feed();
    const fetchPage = fetchPageOf(guard, baseUrl);
    return (want: number) => feed.fill(fetchPage, want, { id: idOf ?? ((item) => (item as Item).id) });
  };
}

describe.each(Object.entries(recipes))("%s", (_name, recipe) => {
  const openFeed = openerOf(recipe);

  test("sends the headers, and applies the snapshots", async () => {
    const { guard, errors } = await openGuard({ namespace: `home:${USER}` });
    const impressions = idsOf("article", 3).map((id) => ({ id, at: Date.now() }));
    await store.ingest(USER, await store.accept(USER, { namespace: `home:${USER}`, now: Date.now(), impressions }));

    const more = openFeed(guard, baseUrl);
    expect(idsIn(await more(SIZE))).toEqual(idsOf("article", SIZE, 3));
    expect(served[0]?.seen).toEqual({});
    expect(guard.explain("article-0").seen).toBe(true);

    // The stream is stopped. One request fills the page nevertheless, and no shard is sent again.
    guard.record(idsOf("article", 5, 3));
    const refreshed = openFeed(guard, baseUrl);
    expect(idsIn(await refreshed(SIZE))).toEqual(idsOf("article", SIZE, 8));
    expect(idsIn(await refreshed(SIZE))).toEqual(idsOf("article", SIZE, 18));
    expect(served).toHaveLength(3);
    for (const { seen, page } of served.slice(1)) {
      expect(seen.held).toBe(heldBy(guard));
      expect(page.snapshot?.shards).toEqual([expect.stringMatching(/^~/)]);
    }
    expect(errors).toEqual([]);
  });

  test("ends with the source, and passes errors on", async () => {
    const { guard } = await openGuard();
    const more = openFeed(guard, baseUrl);
    for (let page = 0; page < 9; page++) expect(await more(SIZE)).toMatchObject({ end: "filled", done: false });
    expect(await more(2 * SIZE)).toMatchObject({ end: "exhausted", done: true });

    await expect(openFeed(guard, "http://127.0.0.1:1")(SIZE)).rejects.toBeDefined();
  });
});

test("a client that returns only lists gets the snapshot by a request of its own", async () => {
  const openFeed = openerOf({ fetchPageOf: mastodon });
  const { guard, errors } = await openGuard({ namespace: `home:${USER}` });
  const impressions = idsOf("article", 3).map((id) => ({ id, at: Date.now() }));
  await store.ingest(USER, await store.accept(USER, { namespace: `home:${USER}`, now: Date.now(), impressions }));
  guard.record("article-3");
  const more = openFeed(guard, baseUrl);
  expect(idsIn(await more(1))).toEqual(idsOf("article", 6, 4));
  expect(idsIn(await more(SIZE))).toEqual(idsOf("article", SIZE, 10));
  expect(guard.explain("article-0")).toEqual({ seen: true, by: "server" });
  expect(idsIn(await more(50))).toEqual(idsOf("article", 50, 20));
  expect(idsIn(await more(30))).toEqual(idsOf("article", 30, 70));
  expect(await more(1)).toMatchObject({ items: [], end: "exhausted", done: true });
  expect(errors).toEqual([]);
});

describe("in Chromium", () => {
  async function open(kind: string, entry: string): Promise<OpenPage> {
    const [example] = examplesOf(kind);
    if (example === undefined) throw new Error(`docs/clients.md has no example ${kind}`);
    const opened = await openExample(example, entry);
    onTestFinished(() => opened.close());
    return opened;
  }

  test("a cached page is shown offline without items that this device has shown", async () => {
    const entry = `
      import { load, record } from "./example";
      const ids = async () => { const { items, error } = await load(); if (error) throw error; return items.map(({ id }) => id); };
      Object.assign(globalThis, { ids, record });`;
    const { page } = await open("js offline", entry);
    await page.waitForFunction("globalThis.ids !== undefined");
    const fresh = idsOf("article", 12).filter((id) => id !== KNOWN);
    expect(await page.evaluate("ids()")).toEqual(fresh);

    await page.context().setOffline(true);
    await page.evaluate(`record(["article-0", "article-1"])`);
    expect(await page.evaluate("ids()")).toEqual(fresh.slice(2));
  });

  test("a switch of accounts delivers undelivered impressions, and continues for the other user", async () => {
    const entry = `
      import { feedFetch, switchTo } from "./example";
      const signedIn = [];
      const signIn = async (user) => void signedIn.push(user);
      const record = async (user, id) => (await switchTo(user, signIn)).record(id);
      const isStopped = async (user, ...ids) => {
        const guard = await switchTo(user, signIn);
        const { items } = await (await feedFetch("/api/feed?page=0")).json();
        return ids.map((id) => items.some((item) => item.id === id) && guard.explain(id).seen);
      };
      Object.assign(globalThis, { isStopped, record, signedIn });`;
    const { page, posted } = await open("ts accounts", entry);
    await page.waitForFunction("globalThis.record !== undefined");
    await page.evaluate(`record("ada", "article-7")`);
    expect(posted).toEqual([]);

    expect(await page.evaluate(`isStopped("bob", "article-7", "${KNOWN}")`)).toEqual([false, true]);
    const impression = { id: "article-7", at: expect.any(Number) as number };
    const delivered = expect.objectContaining({ namespace: "home:ada", impressions: [impression] }) as unknown;
    await vi.waitFor(() => expect(posted.map(({ body }) => body)).toEqual([delivered]), 3_000);
    expect(await page.evaluate(`isStopped("ada", "article-7")`)).toEqual([true]);
    expect(await page.evaluate("signedIn")).toEqual(["ada", "bob", "ada"]);
  });
});
