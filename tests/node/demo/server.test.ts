/** The demo's routes: pages, reports, the stream's controls and bad input, for both stores alike. */
import { idsOf } from "../../../www/page/src/api.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parseReport } from "seenguard/server";
import type { Item } from "../../../www/server/catalogue.ts";
import { eventsOf } from "../../../www/server/events.ts";
import { seenKey } from "../../../www/server/redis/layout.ts";
import type { Problem } from "../../../www/server/store.ts";
import { startRedis } from "../../demo/processes.ts";
import {
  SOON,
  arrived,
  catalogue,
  control,
  page,
  pagesOf,
  post,
  repeats,
  report,
  serveRedis,
  someone,
  status,
  stores,
  type TestServer,
} from "./servers.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

for (const [name, start] of stores) {
  describe(`the server ${name}`, () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await start();
    });
    afterAll(() => server.stop());

    test("a page has as many items as were asked for, and an empty state at first", async () => {
      const { items, snapshot } = await page(server, someone(), 1, 20);
      expect(new Set(items.map(({ id }) => id)).size).toBe(20);
      expect(snapshot).toMatchObject({ version: 0, shards: [] });
      expect(Math.abs(snapshot.now - Date.now() / 1000)).toBeLessThan(60);
    });

    test("the same turn of the same person is the same page", async () => {
      const user = someone();
      expect((await page(server, user, 5)).items).toEqual((await page(server, user, 5)).items);
      expect((await page(server, user, 5)).items).not.toEqual((await page(server, user, 6)).items);
    });

    test("an item is offered again until the server knows that it was seen, and then never", async () => {
      const user = someone();
      await control(server, user, { running: false });
      const shown = await pagesOf(server, user, 1, 10);
      // A device tells all ids of what it has shown.
      await post(
        server,
        user,
        shown.flatMap(idsOf).map((id) => ({ id })),
      );
      expect(repeats(await pagesOf(server, user, 11, 10), shown).length).toBeGreaterThan(20);
      await control(server, user, { running: true, lagSeconds: 0 });
      await arrived(server, user);
      expect(repeats(await pagesOf(server, user, 21, 10), shown)).toEqual([]);
    });

    test("a page ships the state that it was filtered against, which contains none of its items", async () => {
      const user = someone();
      await control(server, user, { lagSeconds: 0 });
      await post(server, user, (await page(server, user, 1)).items);
      await arrived(server, user);
      const { snapshot } = await page(server, user, 2);
      expect(snapshot.version).toBeGreaterThan(0);
      expect(snapshot.shards).toHaveLength(1);
      expect(snapshot).toMatchObject({ version: (await status(server, user)).snapshot?.version });
    });

    test("impressions stay in a stream that lags, and leave it when the lag is taken away", async () => {
      const user = someone();
      await control(server, user, { running: true, lagSeconds: 300 });
      await post(server, user, (await page(server, user, 1)).items);
      expect((await status(server, user)).stream).toMatchObject({ accepted: 10, waiting: 10, lagSeconds: 300 });
      await control(server, user, { lagSeconds: 0 });
      await arrived(server, user);
      expect((await status(server, user)).stream).toMatchObject({ accepted: 10, waiting: 0, running: true });
    });

    test("the same impressions again change nothing", async () => {
      const user = someone();
      await control(server, user, { lagSeconds: 0 });
      const { items } = await page(server, user, 1);
      await post(server, user, items);
      await arrived(server, user);
      const before = (await status(server, user)).snapshot;
      await post(server, user, items);
      await post(server, user, [...items, ...items]);
      await post(server, user, [{ id: "a new one" }]);
      await arrived(server, user, before?.version);
      const after = (await status(server, user)).snapshot;
      expect(after?.version).toBe((before?.version ?? 0) + 1);
    });

    test("the seen state is sent along with the status only when it is another", async () => {
      const user = someone();
      await control(server, user, { lagSeconds: 0 });
      await post(server, user, [{ id: "x" }]);
      await arrived(server, user);
      const { snapshot, state } = await status(server, user);
      expect(snapshot?.shards).toHaveLength(1);
      expect((await status(server, user, state)).snapshot).toBeUndefined();
      await report(server, user, { unseen: [{ id: "x", at: Date.now() }] });
      await vi.waitUntil(async () => (await status(server, user, state)).snapshot !== undefined, SOON);
    });

    test("a flushed store knows nothing any more", async () => {
      const user = someone();
      await control(server, user, { lagSeconds: 0 });
      await post(server, user, [{ id: "x" }]);
      await arrived(server, user);
      expect((await server.app.inject({ method: "POST", url: `/api/users/${user}/flush` })).statusCode).toBe(204);
      expect((await status(server, user)).snapshot).toMatchObject({ version: 0, shards: [] });
    });

    test("any id may be reported, whatever is in it", async () => {
      const user = someone();
      await control(server, user, { lagSeconds: 0 });
      await post(
        server,
        user,
        ["", " ", "a\nb", "a\u0000b", "\ud800", "🙂", "新闻"].map((id) => ({ id })),
      );
      await arrived(server, user);
      expect(Number((await status(server, user)).snapshot?.version) % 2 ** 21).toBe(7);
    });

    for (const [what, request] of badRequests()) {
      test(`${what} is refused, and the answer says so`, async () => {
        const answer = await server.app.inject(request);
        expect(answer.statusCode).toBe(400);
        const { error } = answer.json<{ error: { code: string; message: string } }>();
        expect(error.code).not.toBe("internal");
        expect(error.message).not.toBe("");
      });
    }

    test("what is not there is answered in JSON, too", async () => {
      const answer = await server.app.inject("/api/nothing");
      expect(answer.statusCode).toBe(404);
      expect(answer.json()).toMatchObject({ error: { code: "not-found" } });
    });
  });
}

test("when Redis goes away, requests are refused until it is back, and then all goes on", async () => {
  const redis = await startRedis();
  const server = serveRedis(redis.url);
  const user = someone();
  const answers = async (): Promise<number> => (await server.app.inject(`/api/users/${user}/feed?turn=1`)).statusCode;
  try {
    await vi.waitUntil(async () => (await answers()) === 200, SOON);
    await redis.kill();
    const refused = await server.app.inject({
      method: "POST",
      url: `/api/users/${user}/impressions`,
      payload: { namespace: user, now: 2, impressions: [{ id: "x", at: 1 }] },
    });
    expect(refused.statusCode).toBe(503);
    expect(refused.json()).toMatchObject({ error: { code: "store-unavailable" } });
    expect((await server.app.inject("/api/status")).statusCode).toBe(503);
    expect(await answers()).toBe(503);
    const pool = await server.app.inject(`/api/users/${user}/pool?size=10`);
    expect(pool.statusCode).toBe(200);
    expect(pool.json()).toMatchObject({ items: Array(10).fill(expect.anything()), degraded: true });
    expect(pool.json()).not.toHaveProperty("snapshot");
    await redis.restart();
    await vi.waitUntil(async () => (await answers()) === 200, SOON);
    await control(server, user, { lagSeconds: 0 });
    await post(server, user, [{ id: "x" }]);
    await arrived(server, user);
  } finally {
    await server.stop();
    await redis.stop();
  }
});

test("what consumers report is on the status page", async () => {
  const redis = await startRedis();
  const server = serveRedis(redis.url);
  const user = someone();
  try {
    await redis.client.rpush(seenKey(user), "no shard");
    await vi.waitUntil(async () => (await server.app.inject("/api/status")).statusCode === 200, SOON);
    expect((await server.app.inject(`/api/users/${user}/status`)).json()).toMatchObject({ unreadable: [{ index: 0 }] });
    await control(server, user, { lagSeconds: 0 });
    await post(server, user, [{ id: "x" }]);
    await arrived(server, user);
    // The consumer says so once the shard has been replaced, which may be after the impression is seen to have arrived.
    await vi.waitFor(async () => {
      const { problems } = (await server.app.inject("/api/status")).json<{ problems: Problem[] }>();
      expect(problems).toContainEqual(
        expect.objectContaining({ user, what: expect.stringContaining("was replaced") as string }),
      );
    }, SOON);
  } finally {
    await server.stop();
    await redis.stop();
  }
});

test("a device's clock that is off changes no event, and none is from the future", () => {
  const report = {
    namespace: "ada",
    now: 5_000_000,
    impressions: [{ id: "a", at: 4_999_000 }],
    unseen: [{ id: "b", at: 6_000_000 }],
  };
  expect(eventsOf(parseReport(report, { now: 1000 }))).toEqual([
    { kind: "seen", id: "a", at: 999_000 },
    { kind: "unseen", id: "b", at: 1_000_000 },
  ]);
});

test("the catalogue has a few thousand titles, each with a short id of its own", () => {
  expect(catalogue.length).toBe(6000);
  expect(new Set(catalogue.map(({ id }) => id)).size).toBe(6000);
  for (const { id, title, url } of catalogue) {
    expect(id).toMatch(/^[\w-]{8}$/);
    expect(title).not.toMatch(/[_%]/);
    expect(url).toMatch(/^https:\/\//);
  }
});

test("every repost is found by its address, nearly every edited copy by its text, and no article is taken for one", () => {
  const articles = catalogue.slice(0, 4000);
  const [reposts, edited] = [catalogue.slice(4000, 5000), catalogue.slice(5000)];
  expect(catalogue.filter(({ publisher }) => publisher === undefined)).toEqual(articles);
  const originalsOf = (items: readonly Item[]) => items.map(({ copyOf }) => copyOf?.id);
  expect(new Set(originalsOf(articles))).toEqual(new Set([undefined]));
  expect(originalsOf(reposts)).toEqual(articles.filter((_, place) => place % 4 === 0).map(({ id }) => id));
  expect(new Set(reposts.map(({ copyOf }) => copyOf?.by))).toEqual(new Set(["address"]));
  const found = edited.filter(({ copyOf }) => copyOf !== undefined);
  expect(found.length).toBeGreaterThan(900);
  for (const { title, copyOf } of found) {
    expect(title).toContain(copyOf?.title);
    expect(copyOf?.by).toBe("text");
  }
});

function badRequests(): [
  string,
  { method: "GET" | "POST" | "PUT"; url: string; payload?: object | string; headers?: Record<string, string> },
][] {
  const report = { namespace: "ada", now: 1, impressions: [] };
  const post = (payload: object | string): { method: "POST"; url: string; payload: object | string } => ({
    method: "POST",
    url: "/api/users/ada/impressions",
    payload,
  });
  return [
    ["a page without a turn", { method: "GET", url: "/api/users/ada/feed" }],
    ["a turn that is no number", { method: "GET", url: "/api/users/ada/feed?turn=next" }],
    ["a page of 0 items", { method: "GET", url: "/api/users/ada/feed?turn=1&size=0" }],
    ["a page of 101 items", { method: "GET", url: "/api/users/ada/feed?turn=1&size=101" }],
    ["a pool's page of 0 items", { method: "GET", url: "/api/users/ada/pool?size=0" }],
    ["a user with a space", { method: "GET", url: "/api/users/ada%20l/feed?turn=1" }],
    ["a body that is not JSON", { ...post("{"), headers: { "content-type": "application/json" } }],
    ["a body without impressions", post({ namespace: "ada", now: 1 })],
    ["a body without the device's time", post({ namespace: "ada", impressions: [] })],
    ["an impression without a time", post({ ...report, impressions: [{ id: "x" }] })],
    ["an impression with a number as id", post({ ...report, impressions: [{ id: 1, at: 1 }] })],
    ["something taken back without a time", post({ ...report, unseen: [{ id: "x" }] })],
    ["a lag below 0", { method: "PUT", url: "/api/users/ada/stream", payload: { lagSeconds: -1 } }],
    ["a lag above 300", { method: "PUT", url: "/api/users/ada/stream", payload: { lagSeconds: 301 } }],
    ["a lag that is a text", { method: "PUT", url: "/api/users/ada/stream", payload: { lagSeconds: "5" } }],
    ["an unknown control", { method: "PUT", url: "/api/users/ada/stream", payload: { speed: 5 } }],
  ];
}
