/** Delivery in a browser: requests that outlive the page, hidden pages, redirects, and a network that fails. */

import type { Page } from "@playwright/test";
import { apply, codes, expect, fresh, idsOf, record, report, stats, test, visit } from "../support/pages.js";

/** The most bytes of all requests that outlive a page; browsers allow 64 KB. */
const MAX_BYTES = 60_000;

/** Longer than any test. */
const NEVER_MS = 10_000_000;

/** Hides a page as a closing tab does, and leaves it there. */
async function hide(page: Page): Promise<void> {
  await page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
}

test("impressions are delivered as JSON with their times, in the background", async ({ page, site }) => {
  await visit(page, site);
  await report(page);
  const before = Date.now();
  await record(page, ["a", "🦀 \u0001"]);
  await expect.poll(() => site.delivered).toEqual(["a", "🦀 \u0001"]);
  const [delivery] = site.deliveries;
  expect(delivery?.contentType).toBe("application/json");
  const at = delivery?.impressions[0]?.at ?? 0;
  expect(at).toBeGreaterThanOrEqual(before);
  expect(at).toBeLessThanOrEqual(Date.now());
  expect((await stats(page)).pending).toBe(2);
});

test("without a report no request is sent", async ({ context, site }) => {
  const requests: string[] = [];
  const page = await context.newPage();
  await visit(page, site);
  context.on("request", (request) => requests.push(request.url()));
  await page.evaluate(async () => {
    const { guard } = window;
    guard.apply({ shards: [] });
    guard.observe(document.body);
    guard.record(["a", "b"]);
    guard.unsee("b");
    guard.feed({ key: "home" }).filter(["a", "c"]);
    guard.headers();
    await guard.flush();
    await guard.flush();
  });
  await hide(page);
  await page.close({ runBeforeUnload: true });
  const later = await context.newPage();
  await later.goto(site.origin);
  expect(requests.filter((url) => !url.startsWith(`${site.origin}/dist/`))).toEqual([`${site.origin}/`]);
  expect(site.deliveries).toEqual([]);
  expect(site.preflights).toBe(0);
});

test("a page that closes right after record delivers by a request that outlives it", async ({ context, site }) => {
  const page = await visit(await context.newPage(), site);
  await report(page, { intervalMs: NEVER_MS });
  await record(page, ["as it closed"]);
  await page.close({ runBeforeUnload: true });
  await expect.poll(() => site.delivered).toEqual(["as it closed"]);
  expect(site.deliveries[0]?.contentType).toBe("application/json");
});

test("with headers to send, a page that closes delivers by a request that outlives it", async ({ context, site }) => {
  const page = await visit(await context.newPage(), site);
  await report(page, { intervalMs: NEVER_MS, headers: { authorization: "Bearer token" } });
  await record(page, ["as it closed"]);
  await page.close({ runBeforeUnload: true });
  await expect.poll(() => site.delivered).toEqual(["as it closed"]);
  expect(site.deliveries[0]).toMatchObject({ contentType: "application/json", authorization: "Bearer token" });
});

for (const [when, isAsync] of [
  ["at once", false],
  ["by a promise that is resolved already", true],
] as const) {
  test(`with headers that a function gives ${when}, a page that closes delivers as well`, async ({ context, site }) => {
    const page = await visit(await context.newPage(), site);
    await page.evaluate(
      ([intervalMs, isAsync]) => {
        const token = { authorization: "Bearer token" };
        window.guard.report({
          url: "/impressions",
          intervalMs,
          headers: () => (isAsync ? Promise.resolve(token) : token),
        });
      },
      [NEVER_MS, isAsync] as const,
    );
    await record(page, ["as it closed"]);
    await page.close({ runBeforeUnload: true });
    await expect.poll(() => site.delivered).toEqual(["as it closed"]);
    expect(site.deliveries[0]).toMatchObject({ contentType: "application/json", authorization: "Bearer token" });
  });
}

test("a request in progress when the page closes is sent again and arrives", async ({ context, site }) => {
  let hangs = true;
  site.answer = () => (hangs ? new Promise(() => {}) : { status: 204 });
  const page = await visit(await context.newPage(), site);
  await report(page);
  await record(page, idsOf("under way", 60));
  await expect.poll(() => site.deliveries.length).toBe(1);
  hangs = false;
  await page.close({ runBeforeUnload: true });
  await expect.poll(() => site.deliveries.length).toBe(2);
  expect(site.deliveries[1]?.impressions).toHaveLength(60);
});

for (const [hasApplied, times] of [
  [true, 1],
  [false, 2],
] as const) {
  const when = hasApplied ? "after a snapshot" : "without a snapshot";
  test(`a batch sent as a page closes ${when} is delivered ${String(times)} times`, async ({ context, site }) => {
    const page = await visit(await context.newPage(), site);
    if (hasApplied) await apply(page, { shards: [] });
    await report(page, { intervalMs: NEVER_MS });
    await record(page, ["last"]);
    await page.close({ runBeforeUnload: true });
    await expect.poll(() => site.delivered).toEqual(["last"]);
    const next = await visit(await context.newPage(), site);
    await report(next);
    await record(next, ["of the next"]);
    await expect.poll(() => site.delivered).toContain("of the next");
    // By then impressions of the earlier visit are delivered.
    await next.waitForTimeout(11_000);
    expect(site.delivered.filter((id) => id === "last")).toHaveLength(times);
  });
}

test("a redirect, such as to a sign-in page, is not followed and not an acknowledgement", async ({ page, site }) => {
  site.documents.set("/signin", "<title>sign in</title>");
  site.answer = () => ({ status: 303, headers: { location: "/signin" } });
  const answers: string[] = [];
  page.on("response", (response) => answers.push(new URL(response.url()).pathname));
  await visit(page, site);
  await report(page);
  await record(page, ["a"]);
  await expect.poll(() => codes(page)).toEqual(["delivery"]);
  expect((await stats(page)).undelivered).toBe(1);
  expect(answers).toContain("/impressions");
  expect(answers).not.toContain("/signin");
});

test("one request of at most 60 KB is sent when the page hides; the rest is delivered by the next visit", async ({
  context,
  site,
}) => {
  const page = await visit(await context.newPage(), site);
  await report(page, { intervalMs: NEVER_MS });
  // Recorded in the task that hides the page. Each takes 6 bytes a character in JSON.
  const all = idsOf("\u0001".repeat(100), 900);
  await page.evaluate((all) => {
    window.guard.record(all);
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    // A page that lives longer would deliver the rest.
    window.stopReport();
  }, all);
  await page.evaluate(() => window.guard.flush());
  await expect.poll(() => site.deliveries.length).toBe(1);
  expect(site.delivered.at(-1)).toBe(all.at(-1));
  const bytes = site.deliveries[0]?.bytes;
  expect(bytes).toBeGreaterThan(MAX_BYTES / 2);
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  await page.close();

  const next = await visit(await context.newPage(), site);
  await report(next);
  await expect.poll(() => new Set(site.delivered).size).toBe(900);
});

test("offline no request is made for a minute, and when the network is back all is delivered at once", async ({
  context,
  page,
  site,
}) => {
  await visit(page, site);
  await report(page);
  await record(page, ["online"]);
  await expect.poll(() => site.delivered).toEqual(["online"]);
  await context.setOffline(true);
  const tries: string[] = [];
  page.on("request", (request) => tries.push(request.url()));
  await record(page, idsOf("offline", 60));
  await page.waitForTimeout(1500);
  expect(tries).toEqual([]);
  await context.setOffline(false);
  await expect.poll(() => site.delivered).toEqual(["online", ...idsOf("offline", 60)]);
  expect(await codes(page)).toEqual([]);
});

test("a killed tab's impressions are delivered by the next visit, and by a tab that lives only its own", async ({
  context,
  site,
}) => {
  const [dying, living] = [await context.newPage(), await context.newPage()];
  for (const page of [dying, living]) await visit(page, site);
  await report(dying, { intervalMs: NEVER_MS });
  await report(living);
  await record(dying, ["of the dying"]);
  await record(living, ["of the living"]);
  await expect.poll(() => fresh(living, ["of the dying"])).toEqual([]);
  await expect.poll(() => site.delivered).toEqual(["of the living"]);
  const session = await context.newCDPSession(dying);
  const crashed = dying.waitForEvent("crash");
  void session.send("Page.crash").catch(() => undefined); // a page that is gone does not respond
  await crashed;
  await living.waitForTimeout(500);
  expect(site.delivered).toEqual(["of the living"]);
  const next = await visit(await context.newPage(), site);
  await report(next);
  await expect.poll(() => site.delivered).toEqual(["of the living", "of the dying"]);
});

test("two tabs deliver each impression once between them", async ({ context, site }) => {
  const tabs = [await context.newPage(), await context.newPage()];
  for (const tab of tabs) {
    await visit(tab, site);
    await report(tab);
  }
  await Promise.all(tabs.map((tab, index) => record(tab, idsOf(`tab-${String(index)}`, 120))));
  const all = [...idsOf("tab-0", 120), ...idsOf("tab-1", 120)].sort();
  await expect.poll(() => site.delivered.length).toBe(240);
  await tabs[0]?.waitForTimeout(500);
  expect(site.delivered.toSorted()).toEqual(all);
});
