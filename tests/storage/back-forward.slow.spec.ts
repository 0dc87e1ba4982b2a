/** A page in the back/forward cache: it stays there whatever other tabs do, and has their changes when it returns. */
import type { BrowserContext, Page } from "@playwright/test";
import {
  codes,
  expect,
  flush,
  fresh,
  idsOf,
  NAMESPACE,
  record,
  report,
  stats,
  test as base,
  visit,
} from "../support/pages.js";

declare global {
  interface Window {
    /** Whether the page has returned from the cache. */
    persisted: boolean;
  }
}

/** Playwright starts Chromium without that cache, unlike people. */
const test = base.extend<{ cachingContext: BrowserContext }>({
  cachingContext: async ({ playwright, launchOptions }, use) => {
    const ignoreDefaultArgs = ["--disable-back-forward-cache"];
    const browser = await playwright.chromium.launch({ ...launchOptions, ignoreDefaultArgs });
    await use(await browser.newContext());
    await browser.close();
  },
});

async function leave(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.persisted = false;
    addEventListener("pageshow", (event) => (window.persisted = event.persisted));
  });
  await page.goto(new URL("/elsewhere", page.url()).href);
}

async function comeBack(page: Page): Promise<void> {
  // A page from the cache does not load again.
  await page.goBack({ waitUntil: "commit" });
  await page.waitForFunction(() => window.persisted);
}

test("i6: a page stays in the cache while other tabs open, record and close", async ({ cachingContext, site }) => {
  const page = await visit(await cachingContext.newPage(), site);
  await record(page, idsOf("before leaving", 5));
  await leave(page);
  const other = await visit(await cachingContext.newPage(), site);
  expect(await fresh(other, idsOf("before leaving", 5))).toEqual([]);
  // Enough to be compacted meanwhile.
  for (const id of idsOf("meanwhile", 40)) {
    await record(other, [id]);
    await flush(other);
  }
  await other.close();
  const third = await visit(await cachingContext.newPage(), site);
  await record(third, ["and a third"]);
  await flush(third);

  await comeBack(page);
  await expect.poll(() => fresh(page, [...idsOf("meanwhile", 40), "and a third", "new"])).toEqual(["new"]);
  await record(page, ["after returning"]);
  await expect.poll(() => fresh(third, ["after returning", "new"])).toEqual(["new"]);
  expect((await stats(page)).pending).toBe(47);
  expect(await codes(page)).toEqual([]);
});

test("a page that returns after a clear in another tab has nothing that was cleared", async ({
  cachingContext,
  site,
}) => {
  const page = await visit(await cachingContext.newPage(), site);
  await record(page, ["before"]);
  await flush(page);
  await leave(page);
  const other = await visit(await cachingContext.newPage(), site);
  await other.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
  await comeBack(page);
  await expect.poll(() => fresh(page, ["before"])).toEqual(["before"]);
  await record(page, ["after"]);
  await flush(page);
  await other.close();
  const later = await visit(await cachingContext.newPage(), site);
  expect(await fresh(later, ["before", "after"])).toEqual(["before"]);
});

test("i6: a page that records as it is left enters the cache, and loses no impression", async ({
  cachingContext,
  site,
}) => {
  const page = await visit(await cachingContext.newPage(), site);
  await page.evaluate(() => {
    addEventListener("pagehide", () => window.guard.record("as it left"));
  });
  await leave(page);
  const other = await visit(await cachingContext.newPage(), site);
  await expect.poll(() => fresh(other, ["as it left"])).toEqual([]);
  await comeBack(page);
  expect(await fresh(page, ["as it left"])).toEqual([]);
});

test("i6: a page that observes and delivers enters the cache, too, and continues when it returns", async ({
  cachingContext,
  site,
}) => {
  const page = await visit(await cachingContext.newPage(), site);
  await report(page);
  await page.evaluate(() => window.guard.observe(document.body));
  await record(page, ["before"]);
  await expect.poll(() => site.delivered).toEqual(["before"]);
  await leave(page);
  await comeBack(page);
  await record(page, ["after"]);
  await expect.poll(() => site.delivered).toEqual(["before", "after"]);
});
