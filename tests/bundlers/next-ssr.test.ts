/** The app of docs/frameworks.md: a page that Next renders on the server for what a person has seen, also on this device. */
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { untilNamed } from "../support/pages.js";
import { newPage } from "../packed/chromium.js";
import { runScript, startServer } from "./programs.js";

const USER = "ada";
const PAGE_SIZE = 20;
const MAX_COOKIE_CHARACTERS = 3000;
const WAIT = { timeout: 30_000, interval: 200 };

declare global {
  interface Window {
    /** The ids that the page has shown so far, if only for a moment. */
    shownIds: Set<string>;
    layoutShift: number;
  }
}

const app = join(inject("installed"), "next-ssr");
let building: Promise<unknown> | undefined;

async function startApp(): Promise<string> {
  await (building ??= runScript(app, "build"));
  return startServer(app, "start");
}

/** A browser that USER is signed in with. Its reports do not reach the store. */
async function openReader() {
  const address = await startApp();
  const { page, complaints } = await newPage();
  const context = page.context();
  await context.addCookies([{ name: "session", value: USER, url: address }]);
  await page.route("**/api/feed/seen", (route) => route.fulfill({ status: 204 }));
  await page.addInitScript(watchPage);
  const devtools = await context.newCDPSession(page);

  async function pendingCookie(): Promise<string> {
    const cookies = await context.cookies(address);
    return decodeURIComponent(cookies.find(({ name }) => name === "seen")?.value ?? "");
  }
  return {
    address,
    page,
    complaints,
    devtools,
    pendingCookie,
    /** Opens the page, or opens it again, and returns the ids in the server's HTML. */
    async open(): Promise<string[]> {
      const response = await page.goto(address);
      return idsIn((await response?.text()) ?? "");
    },
    shownIds: () => page.evaluate(() => [...window.shownIds]),
    layoutShift: () => page.evaluate(() => window.layoutShift),
    /** Waits until these were in view for so long that the next page of the server leaves them out. */
    async haveSeen(ids: readonly string[]): Promise<void> {
      const rendered = async () => idsIn(await (await page.request.get(address)).text());
      const isLeftOut = async () => (await rendered()).filter((id) => ids.includes(id));
      await expect.poll(isLeftOut, WAIT).toEqual([]);
    },
  };
}

function watchPage(): void {
  navigator.sendBeacon = () => true; // lost on its way
  window.shownIds = new Set();
  window.layoutShift = 0;
  new MutationObserver(() => {
    for (const { dataset } of document.querySelectorAll<HTMLElement>("[data-seen-id]"))
      window.shownIds.add(dataset.seenId ?? "");
  }).observe(document, { childList: true, subtree: true, attributes: true });
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries() as (PerformanceEntry & { value: number })[]) window.layoutShift += value;
  }).observe({ type: "layout-shift", buffered: true });
}

const idsIn = (html: string) => [...html.matchAll(/data-seen-id="([^"]*)"/g)].map(([, id = ""]) => id);
const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `article-${from + index}`);
/** By their heights, these are in view at the top. */
const IN_VIEW = ids(0, 6);

test.each([
  { device: "desk", slowdown: 1 },
  { device: "slow phone", slowdown: 6 },
])(
  "what this device has shown and the store does not know is not rendered again, on a $device",
  async ({ slowdown }) => {
    const reader = await openReader();
    expect(await reader.open()).toEqual(ids(0, PAGE_SIZE));
    await reader.haveSeen(IN_VIEW);
    await reader.devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });

    const rendered = await reader.open();
    expect(rendered).toHaveLength(PAGE_SIZE);
    expect(rendered.filter((id) => IN_VIEW.includes(id))).toEqual([]);
    await reader.haveSeen(rendered.slice(0, 5));
    // Items seen in the meantime stay, and no others were shown, not even for a moment.
    expect(await reader.page.locator("li").evaluateAll((items) => items.map((item) => item.dataset.seenId))).toEqual(
      rendered,
    );
    expect(await reader.shownIds()).toEqual(rendered);
    expect(await reader.layoutShift()).toBe(0);
    expect(reader.complaints).toEqual([]);
  },
);

test("the following pages have each article once, and none that this device has shown", async () => {
  const reader = await openReader();
  await reader.open();
  await reader.haveSeen(IN_VIEW);
  await reader.open();
  const items = reader.page.locator("li");
  await expect
    .poll(async () => {
      await items.last().scrollIntoViewIfNeeded();
      return items.last().textContent();
    }, WAIT)
    .toBe("Article 99");
  const shown = await reader.shownIds();
  expect(new Set(shown).size).toBe(shown.length);
  expect(shown.filter((id) => IN_VIEW.includes(id))).toEqual([]);
  expect(shown.length).toBeGreaterThan(90);
  expect(await reader.layoutShift()).toBe(0);
  expect(reader.complaints).toEqual([]);
});

test("without the cookie the server knows what came with the last request for a page", async () => {
  const reader = await openReader();
  await reader.open();
  await reader.haveSeen(IN_VIEW);
  await untilNamed(reader.page);
  const items = reader.page.locator("li");
  await items.nth(PAGE_SIZE - 1).scrollIntoViewIfNeeded();
  await expect.poll(() => items.count(), WAIT).toBeGreaterThan(PAGE_SIZE);
  const html = await reader.page.request.get(reader.address, { headers: { cookie: `session=${USER}` } });
  const rendered = idsIn(await html.text());
  expect(rendered).toHaveLength(PAGE_SIZE);
  expect(rendered.filter((id) => IN_VIEW.includes(id))).toEqual([]);
});

test("the cookie has at most 3 KB and the newest impressions, however many are pending", async () => {
  const reader = await openReader();
  await reader.open();
  await reader.page.addScriptTag({ path: join(inject("installed"), "node_modules/seenguard/dist/seenguard.iife.js") });
  await reader.page.evaluate(async (namespace) => {
    // The guard that the page has.
    const guard = await window.Seenguard.SeenGuard.open({ namespace });
    guard.record(Array.from({ length: 4_000 }, (_, index) => `story-${index}`));
    await guard.close();
  }, `home:${USER}`);
  await reader.haveSeen(IN_VIEW);
  const cookie = await reader.pendingCookie();
  expect(cookie.length).toBeGreaterThan(MAX_COOKIE_CHARACTERS - 100);
  expect(cookie.length).toBeLessThanOrEqual(MAX_COOKIE_CHARACTERS + `home:${USER}|.midc1z40.0.`.length);
  const rendered = await reader.open();
  expect(rendered.filter((id) => IN_VIEW.includes(id))).toEqual([]);
  expect(reader.complaints).toEqual([]);
});

test("a cookie of another user, and one that cannot be read, are ignored", async () => {
  const reader = await openReader();
  await reader.open();
  await reader.haveSeen(IN_VIEW);
  const { address, page } = reader;
  const mine = await reader.pendingCookie();
  for (const value of [mine.replace(USER, "grace"), mine.slice(0, -9), "%"]) {
    const html = await page.request.get(address, { headers: { cookie: `session=${USER}; seen=${value}` } });
    expect(idsIn(await html.text()), value).toEqual(ids(0, PAGE_SIZE));
  }
});

test("a page is for one person, and no shared cache stores it", async () => {
  const address = await startApp();
  expect(await (await fetch(address)).text()).toContain("Please sign in");
  for (const path of ["/", "/api/feed"]) {
    const response = await fetch(address + path, { headers: { cookie: `session=${USER}` } });
    expect(response.headers.get("cache-control"), path).toMatch(/private.*no-store/);
  }
});

test("a report counts for the session that it names", async () => {
  const address = await startApp();
  const impressions = [{ id: "article-0", at: Date.now() }];
  expect(await report(address, { namespace: "home:grace", impressions })).toBe(409);
  expect(await report(address, { impressions }, { cookie: "" })).toBe(403);
  expect(await report(address, { impressions: "none" })).toBe(400);
  expect(await firstIds(address)).toEqual(ids(0, PAGE_SIZE));
  expect(await report(address, { impressions })).toBe(204);
  expect(await firstIds(address)).toEqual(ids(1, PAGE_SIZE + 1));
});

async function firstIds(address: string): Promise<string[]> {
  return idsIn(await (await fetch(address, { headers: { cookie: `session=${USER}` } })).text());
}

/** Reports as a device of USER does. Returns the status. */
async function report(address: string, body: object, headers: Record<string, string> = {}): Promise<number> {
  const { status } = await fetch(`${address}/api/feed/seen`, {
    method: "POST",
    headers: { "content-type": "application/json", cookie: `session=${USER}`, ...headers },
    body: JSON.stringify({ namespace: `home:${USER}`, now: Date.now(), ...body }),
  });
  return status;
}
