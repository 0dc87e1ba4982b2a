/** The demo's routes: pages, reports, the stream's controls and bad input; and how its server finds copies of stories. */
import { idsOf } from "../../www/page/src/api.ts";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Item } from "../../www/server/catalogue.ts";
import { canonicalAddress, StoryGroups } from "../../www/server/stories.ts";
import {
  SOON,
  arrived,
  catalogue,
  control,
  flush,
  page,
  pagesOf,
  post,
  repeats,
  report,
  someone,
  startServer,
  status,
  type TestServer,
} from "./servers.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let server: TestServer;
beforeAll(() => {
  server = startServer();
});
afterAll(() => server.stop());

test("a page has as many items as were requested, and an empty state at first", async () => {
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

test("an item is offered again until its impression has reached the server, and then never", async () => {
  const user = someone();
  await control(server, user, { running: false });
  const shown = await pagesOf(server, user, 1, 10);
  // A device reports all ids of the items that it has shown.
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

test("a page has the snapshot that it was filtered against, which contains none of its items", async () => {
  const user = someone();
  await control(server, user, { lagSeconds: 0 });
  await post(server, user, (await page(server, user, 1)).items);
  await arrived(server, user);
  const { snapshot } = await page(server, user, 2);
  expect(snapshot.version).toBeGreaterThan(0);
  expect(snapshot.shards).toHaveLength(1);
  expect(snapshot).toMatchObject({ version: (await status(server, user)).snapshot?.version });
});

test("impressions wait in a stream that lags, and arrive when the lag is set to 0", async () => {
  const user = someone();
  await control(server, user, { running: true, lagSeconds: 300 });
  await post(server, user, (await page(server, user, 1)).items);
  expect((await status(server, user)).stream).toMatchObject({ accepted: 10, waiting: 10, lagSeconds: 300 });
  await control(server, user, { lagSeconds: 0 });
  await arrived(server, user);
  expect((await status(server, user)).stream).toMatchObject({ accepted: 10, waiting: 0, running: true });
});

test("the snapshot is sent with the status only when it has changed", async () => {
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

test("a flushed store contains nothing any more", async () => {
  const user = someone();
  await control(server, user, { lagSeconds: 0 });
  await post(server, user, [{ id: "x" }]);
  await arrived(server, user);
  await flush(server, user);
  expect((await status(server, user)).snapshot).toMatchObject({ version: 0, shards: [] });
});

for (const [what, request] of badRequests()) {
  test(`${what} is refused with an error in the response`, async () => {
    const answer = await server.ask(...request);
    expect(answer.status).toBe(400);
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect(error.code).not.toBe("internal");
    expect(error.message).not.toBe("");
  });
}

test("an unknown path gets an error as JSON, too", async () => {
  const answer = await server.ask("GET", "/api/nothing");
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ error: { code: "not-found" } });
});

test("the catalogue has more than a thousand titles, each with a different short id", () => {
  expect(catalogue.length).toBe(1500);
  expect(new Set(catalogue.map(({ id }) => id)).size).toBe(1500);
  for (const { id, title, url } of catalogue) {
    expect(id).toMatch(/^[\w-]{8}$/);
    expect(title).not.toMatch(/[_%]/);
    expect(url).toMatch(/^https:\/\//);
  }
});

test("every repost is found by its address, nearly every edited copy by its text, and no article is mistaken for a copy", () => {
  const articles = catalogue.slice(0, 1000);
  const [reposts, edited] = [catalogue.slice(1000, 1250), catalogue.slice(1250)];
  expect(catalogue.filter(({ publisher }) => publisher === undefined)).toEqual(articles);
  const originalsOf = (items: readonly Item[]) => items.map(({ copyOf }) => copyOf?.id);
  expect(new Set(originalsOf(articles))).toEqual(new Set([undefined]));
  expect(originalsOf(reposts)).toEqual(articles.filter((_, index) => index % 4 === 0).map(({ id }) => id));
  expect(new Set(reposts.map(({ copyOf }) => copyOf?.by))).toEqual(new Set(["address"]));
  const found = edited.filter(({ copyOf }) => copyOf !== undefined);
  expect(found.length).toBeGreaterThan(225);
  for (const { title, copyOf } of found) {
    expect(title).toContain(copyOf?.title);
    expect(copyOf?.by).toBe("text");
  }
});

function badRequests(): [what: string, request: Parameters<TestServer["ask"]>][] {
  const report = { namespace: "ada", now: 1, impressions: [] };
  const get = (path: string): Parameters<TestServer["ask"]> => ["GET", `/api/users/${path}`];
  const post = (body: unknown): Parameters<TestServer["ask"]> => ["POST", "/api/users/ada/impressions", body];
  const put = (change: unknown): Parameters<TestServer["ask"]> => ["PUT", "/api/users/ada/stream", change];
  return [
    ["a page without a turn", get("ada/feed")],
    ["a turn that is not a number", get("ada/feed?turn=next")],
    ["a page of 0 items", get("ada/feed?turn=1&size=0")],
    ["a page of 101 items", get("ada/feed?turn=1&size=101")],
    ["a pool's page of 0 items", get("ada/pool?size=0")],
    ["a user with a space", get("ada%20l/feed?turn=1")],
    ["a body that is not JSON", post("{")],
    ["a body without impressions", post({ namespace: "ada", now: 1 })],
    ["a body without the device's time", post({ namespace: "ada", impressions: [] })],
    ["an impression without a time", post({ ...report, impressions: [{ id: "x" }] })],
    ["an impression with a number as id", post({ ...report, impressions: [{ id: 1, at: 1 }] })],
    ["an unseen entry without a time", post({ ...report, unseen: [{ id: "x" }] })],
    ["a lag below 0", put({ lagSeconds: -1 })],
    ["a lag above 300", put({ lagSeconds: 301 })],
    ["a lag that is a string", put({ lagSeconds: "5" })],
    ["an unknown control", put({ speed: 5 })],
    ["no control at all", put({})],
  ];
}

test.each([
  "http://www.heron.example/seals/",
  "https://m.heron.example/seals?utm_source=share&fbclid=1#photos",
  "https://heron.example/seals?gclid=2",
])("%s is the address of the same page", (url) => {
  expect(canonicalAddress(url)).toBe("https://heron.example/seals");
});

test("a short text has to have the same words, and an empty text is not a copy of another", async () => {
  const groups = await StoryGroups.create();
  const texts = ["Seals are back!", "seals — are back", "Seals were back", "", "…"];
  const found = texts.map((text, id) =>
    groups.groupOf({ id: String(id), url: `https://a.example/${String(id)}`, text }),
  );
  expect(found).toEqual(["0", "0", "2", "3", "4"]);
  groups.free();
});

test("a story keeps its group, also when the first story of the group is gone", async () => {
  const text = Array.from({ length: 120 }, (_, number) => `word${String(number)}`).join(" ");
  const groups = await StoryGroups.create();
  expect(groups.groupOf({ id: "b", group: "a", url: "https://a.example/b", text })).toBe("a");
  expect(groups.groupOf({ id: "c", url: "https://c.example", text: `${text} word0` })).toBe("a");
  groups.free();
});
