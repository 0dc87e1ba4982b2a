/**
 * Requests of a page that hides: their impressions count as delivered only where a loss is improbable, else the next
 * visit delivers them.
 */
import type { Report, ReportOptions } from "seenguard";
import { describe, expect, test } from "vitest";
import { MapStorage, openGuard, openPage, uniqueNamespace } from "../support/node.js";
import { never, pass, useFakeTimers } from "../support/clocks.js";

useFakeTimers();

const idsIn = ({ impressions, unseen = [] }: Report) => [...impressions, ...unseen].map(({ id }) => id);

/** A browser's page with events of its own; `Request` knows `keepalive`, as in most browsers. */
function newDocument(globals: object = {}) {
  const events = new EventTarget();
  const listeners = {
    addEventListener: events.addEventListener.bind(events),
    removeEventListener: events.removeEventListener.bind(events),
  };
  const { seenguard } = openPage("", { ...listeners, Request, navigator: { onLine: true }, fetch: never, ...globals });
  return { seenguard, hide: () => events.dispatchEvent(new Event("pagehide")) };
}

interface Visit {
  readonly globals?: object;
  readonly options?: Partial<ReportOptions>;
}

/**
 * A page records an impression and an unseen id, hides and is killed. Returns what the next visit delivers within 15
 * seconds.
 */
async function deliveredNext({ globals, options }: Visit): Promise<string[]> {
  const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
  const { seenguard, hide } = newDocument(globals);
  const { guard } = await openGuard({ namespace, storage }, seenguard);
  guard.apply({ shards: [] });
  guard.report({ url: "https://feed.test/seen", ...options });
  guard.record("impression");
  guard.unsee("unseen");
  hide();
  await pass(0);
  return deliveredFrom(namespace, storage);
}

/** What the next visit delivers within 15 seconds, from a copy of the storage now. */
async function deliveredFrom(namespace: string, { values }: MapStorage): Promise<string[]> {
  const storage = new MapStorage();
  for (const [key, value] of values) storage.values.set(key, value);
  const { guard } = await openGuard({ namespace, storage }, newDocument().seenguard);
  const delivered: string[] = [];
  guard.report({ send: (report) => Promise.resolve(void delivered.push(...idsIn(report))) });
  await pass(15_000);
  return delivered;
}

describe("an impression that a page delivers as it hides and is killed", () => {
  test("counts as delivered by a keepalive request; an unseen id does not", async () => {
    expect(await deliveredNext({})).toEqual(["unseen"]);
  });

  const visits: Record<string, Visit> = {
    "by the app's `send`, which the browser may cancel": { options: { send: never } },
    "by the app's `fetch`": { options: { fetch: never } },
    offline: { globals: { navigator: { onLine: false } } },
    "where requests know no `keepalive`": { globals: { Request: function Request() {} } },
    "before its headers have come": { options: { headers: never } },
  };
  for (const [how, visit] of Object.entries(visits))
    test(`${how}, is delivered by the next visit`, async () => {
      expect(await deliveredNext(visit)).toEqual(["impression", "unseen"]);
    });

  test("by a request that then fails, is delivered by the next visit", async () => {
    let fail = (_: Error) => {};
    const fetch = () => new Promise((_, reject) => (fail = reject));
    const { seenguard, hide } = newDocument({ fetch });
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const { guard } = await openGuard({ namespace, storage }, seenguard);
    guard.apply({ shards: [] });
    guard.report({ url: "https://feed.test/seen" });
    guard.record("impression");
    hide();
    await pass(0);
    fail(new TypeError("Failed to fetch"));
    await pass(0);
    expect(await deliveredFrom(namespace, storage)).toEqual(["impression"]);
  });

  test.each([
    ["a 503", () => Promise.resolve({ status: 503 })],
    ["a TypeError", () => Promise.reject(new TypeError("Failed to fetch"))],
    ["an impression that was refused", () => Promise.resolve({ status: 400 })],
  ])("after %s, is delivered by the next visit", async (_, fail: () => Promise<unknown>) => {
    let answer = fail;
    const { seenguard, hide } = newDocument({ fetch: () => answer() });
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const { guard } = await openGuard({ namespace, storage }, seenguard);
    guard.apply({ shards: [] });
    guard.report({ url: "https://feed.test/seen" });
    guard.record("first");
    await pass(1000);
    answer = never;
    guard.record("impression");
    hide();
    await pass(0);
    expect(await deliveredFrom(namespace, storage)).toContain("impression");
  });
});
