/**
 * What the demo's server tells a device next to the items: what was made unseen, a history that was deleted;
 * and items with several ids.
 */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { SeenGuard } from "seenguard";
import { idsOf } from "../../www/page/src/api.ts";
import type { Item } from "../../www/server/catalogue.ts";
import { MapStorage } from "../support/node.ts";
import {
  SOON,
  arrived,
  control,
  deleteHistory,
  flush,
  page,
  pagesOf,
  pool,
  post,
  report,
  someone,
  startServer,
  status,
  type Page,
  type TestServer,
} from "./servers.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let server: TestServer;
beforeAll(() => {
  server = startServer();
});
afterAll(() => server.stop());

test("what was made unseen is offered again, and the state lists it, until it is seen again", async () => {
  const user = someone();
  await control(server, user, { lagSeconds: 0 });
  const id = (await pool(server, user))[0]?.[0]?.id ?? ""; // the best for this person
  await post(server, user, [{ id }]);
  await arrived(server, user);
  await report(server, user, { unseen: [{ id, at: Date.now() }] });
  await vi.waitFor(async () => {
    const { snapshot } = await page(server, user, 2);
    expect(snapshot.unseen?.map((taken) => taken.id)).toEqual([id]);
  }, SOON);
  const offered = (await pagesOf(server, user, 11, 30)).map((each) => each.id);
  expect(offered).toContain(id);
  await post(server, user, [{ id }]);
  await vi.waitUntil(async () => (await page(server, user, 2)).snapshot.unseen === undefined, SOON);
  expect((await pagesOf(server, user, 41, 30)).map((each) => each.id)).not.toContain(id);
});

test("after a deletion all items are offered again, and earlier reports on their way do not count", async () => {
  const user = someone();
  await control(server, user, { lagSeconds: 0 });
  await post(server, user, (await page(server, user, 1)).items);
  await arrived(server, user);
  await control(server, user, { running: false });
  await post(server, user, [{ id: "under way" }]);
  const { state } = await status(server, user);
  await deleteHistory(server, user);
  const { snapshot } = await status(server, user, state);
  expect(snapshot).toMatchObject({ version: 0, shards: [] });
  expect(Math.abs((snapshot?.forgetBefore ?? 0) - Date.now() / 1000)).toBeLessThan(60);
  await control(server, user, { running: true });
  await vi.waitUntil(async () => (await status(server, user)).stream.waiting === 0, SOON);
  await vi.waitUntil(() => Date.now() > (snapshot?.forgetBefore ?? 0) * 1000, SOON);
  await post(server, user, [{ id: "after" }]);
  await arrived(server, user);
  expect(Number((await status(server, user)).snapshot?.version) % 2 ** 21).toBe(1);
});

test("a replica that lags knows neither what was made unseen nor of the deletion", async () => {
  const user = someone();
  await control(server, user, { lagSeconds: 0 });
  await post(server, user, [{ id: "x" }]);
  await arrived(server, user);
  await control(server, user, { replicaLags: true });
  await deleteHistory(server, user);
  expect((await page(server, user, 1)).snapshot.forgetBefore).toBeGreaterThan(0);
  const { snapshot } = await page(server, user, 2);
  expect(snapshot.forgetBefore).toBeUndefined();
  expect(snapshot.shards).toHaveLength(1);
});

test.each(["address", "text"])(
  "who has seen an article is offered no copy of the same %s, nor the other way round",
  async (by) => {
    const user = someone();
    await control(server, user, { lagSeconds: 0 });
    const offered = await pagesOf(server, user, 1, 40);
    const copy = offered.find(({ copyOf }) => copyOf?.by === by);
    const [one, other] = copy === undefined ? [] : idsOf(copy);
    expect(other).toBeDefined();
    // A device tells all ids of what it has shown.
    for (const shown of [[other], [one, other]]) {
      await flush(server, user);
      await post(
        server,
        user,
        shown.map((id = "") => ({ id })),
      );
      await arrived(server, user);
      const ids = (await pagesOf(server, user, 41, 40)).flatMap(idsOf);
      expect(ids).not.toContain(one);
      expect(ids).not.toContain(other);
    }
  },
);

test("what one device reports is left out for another, with its copies, and counts for nothing after a flush", async () => {
  const user = someone();
  await control(server, user, { running: false });
  const guard = await SeenGuard.open({ namespace: user, storage: new MapStorage() });
  const { items } = await page(server, user, 1, 60);
  const seen = new Set(items.slice(0, 20).flatMap(idsOf));
  guard.record(seen);
  await guard.flush(); // which names the device, too
  const isSeen = (item: Item): boolean => idsOf(item).some((id) => seen.has(id));
  const seenOn = (answer: Page): string[] => answer.items.filter(isSeen).map(({ id }) => id);

  // The device itself leaves out what it has shown.
  expect((await page(server, user, 1, 60, guard.headers())).elsewhere).toEqual([]);
  const other = await page(server, user, 1, 60);
  expect(other.items).toEqual(items);
  expect(other.elsewhere).toEqual(seenOn(other));
  expect(seenOn(other).length).toBeGreaterThanOrEqual(20);

  await flush(server, user);
  expect((await page(server, user, 1, 60)).elsewhere).toEqual([]);
  await report(server, user, { pending: guard.headers()["Seen-Pending"] ?? "" });
  expect((await page(server, user, 1, 60)).elsewhere).toEqual(seenOn(other));
  await deleteHistory(server, user);
  expect((await page(server, user, 1, 60)).elsewhere).toEqual([]);
  await guard.close();
});
