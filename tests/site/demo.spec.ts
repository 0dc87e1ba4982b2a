/** The demo without a server, as on the documentation's site: its handler runs in a worker of the page. */
import { test, type Frame, type Page } from "@playwright/test";
import { builds, requestsElsewhere, siteFor } from "./site.ts";
import { Reader, expect, idsOf } from "../demo/reader.ts";

declare global {
  interface Window {
    noticesSoFar: string[];
  }
}

test.use({ viewport: { width: 1280, height: 900 } });

/** There are no network requests to wait for: this polls. */
class ReaderAlone extends Reader {
  protected override async changeStream(change: () => Promise<void>): Promise<void> {
    const control = () => this.page.evaluate(streamOf, this.user);
    const before = JSON.stringify(await control());
    await change();
    await expect.poll(async () => JSON.stringify(await control())).not.toBe(before);
  }
}

/** Runs in the page. */
async function streamOf(user: string): Promise<unknown> {
  const { stream } = (await (await fetch(`./api/users/${user}/status`)).json()) as {
    stream: { running: boolean; lagSeconds: number };
  };
  return [stream.running, stream.lagSeconds];
}

for (const build of builds) {
  test.describe(`the site for ${build.base}`, () => {
    const site = siteFor(build);

    test("its first page has a working demo, without requests to another host", async ({ page }) => {
      const elsewhere = await requestsElsewhere(page, site());
      await page.goto(site().url);
      const demo = page.frameLocator("iframe");
      await expect(demo.locator("#guarded .item").first()).toBeVisible();
      await expect(page.locator("figure")).toContainText("runs in this page, and what it knows ends with it");
      await expect(demo.locator("#way-text")).toContainText("Its data ends with the page.");
      await page.locator("iframe").scrollIntoViewIfNeeded();
      const looked = demo.locator("#guarded .looked-at");
      await expect(looked.nth(2)).toBeAttached();
      const seen = new Set((await idsOf(looked)).flat());
      await expect(async () => {
        await demo.getByRole("button", { name: "Refresh both feeds" }).click();
        await expect(demo.locator("#feeds:not([aria-busy])")).toBeAttached();
        await expect(demo.locator("#count-stopped")).not.toHaveText("0", { timeout: 100 });
      }).toPass();
      const shown = await idsOf(demo.locator("#guarded [data-seen-id]"));
      expect(shown.filter((ids) => ids.some((id) => seen.has(id)))).toEqual([]);
      expect(elsewhere).toEqual([]);
    });
  });
}

test.describe("the demo in the first page", () => {
  const [build] = builds;
  const site = siteFor(build);
  const scrolled = (frame: Page | Frame) => frame.evaluate(() => scrollY);

  test("a wheel over it scrolls the page, and the demo while a person uses it", async ({ page }) => {
    await page.goto(site().url);
    const frame = page.locator("iframe");
    const title = page.frameLocator("iframe").getByRole("heading", { name: "The same feed, twice" });
    await expect(page.frameLocator("iframe").locator("#guarded .item").first()).toBeVisible();
    const [demo] = page.mainFrame().childFrames();
    if (!demo) throw new Error("the first page has no demo");
    await frame.scrollIntoViewIfNeeded();
    const before = await scrolled(page);
    await frame.hover();
    await page.mouse.wheel(0, 150);
    await expect.poll(() => scrolled(page)).toBe(before + 150);
    expect(await scrolled(demo)).toBe(0);

    await title.click();
    const whenUsed = await scrolled(page);
    await page.mouse.wheel(0, 150);
    await expect.poll(() => scrolled(demo)).toBeGreaterThan(0);
    expect(await scrolled(page)).toBe(whenUsed);

    await page.mouse.move(2, 450); // out of the demo, and back
    await frame.hover();
    await page.mouse.wheel(0, -100);
    await expect.poll(() => scrolled(page)).toBe(whenUsed - 100);
  });

  test("its server starts before styles and the page's own script are there", async ({ page }) => {
    await page.route(/\.css$|\/demo\/assets\/index-/, async (route) => {
      await expect.poll(() => page.workers().length).toBe(1);
      await route.continue();
    });
    await page.goto(site().url);
    await expect(page.frameLocator("iframe").locator("#guarded .item").first()).toBeVisible();
    expect(page.workers()).toHaveLength(1);
  });
});

test.describe("the demo without a server", () => {
  const [build] = builds;
  const site = siteFor(build);
  const open = async (page: Page, user: string): Promise<ReaderAlone> => {
    const reader = new ReaderAlone(page, `${site().url}demo/`, user);
    await reader.open();
    return reader;
  };

  test("a second device uses the same server: each leaves out the other's items", async ({ page }) => {
    const desk = await open(page, "two-alone");
    await desk.setStream(false);
    await desk.look();
    await desk.refresh(); // which reports to the server
    const seen = new Set(desk.seen);
    await page.getByRole("switch", { name: "Read on a phone, too" }).check();
    await expect(page.frameLocator("#phone iframe").locator("#feeds")).toBeAttached();
    const [phone] = page.mainFrame().childFrames();
    if (!phone) throw new Error("the phone has no page");
    await expect(async () => {
      await phone.getByRole("button", { name: "Refresh both feeds" }).click();
      await expect(phone.locator("#feeds:not([aria-busy]) .block").first()).toBeAttached();
      expect(await seenIn(phone, "unguarded", seen)).toBeGreaterThan(0);
      expect(await seenIn(phone, "guarded", seen)).toBe(0);
      await expect(page.locator("#phone .score b")).not.toHaveText("0", { timeout: 100 });
    }).toPass();
    expect(page.workers()).toHaveLength(1);
  });

  test("when the worker has died, the page reports it, and starts another one", async ({ page }) => {
    const reader = await open(page, "killed-alone");
    await reader.look();
    const [worker] = page.workers();
    await page.evaluate(recordNotices);
    await worker?.evaluate(() => self.close());
    await page.getByRole("button", { name: "Refresh both feeds" }).click();
    const notices = () => page.evaluate(() => window.noticesSoFar.join("\n"));
    await expect.poll(notices).toContain("the worker does not respond");
    await expect(page.getByRole("alert")).toBeEmpty();
    expect((await reader.refreshAndLook(2)).guarded).toBe(0);
  });
});

/** How many of the items in a column were seen. */
async function seenIn(device: Frame, side: "unguarded" | "guarded", seen: ReadonlySet<string>): Promise<number> {
  const items = await idsOf(device.locator(`.column[data-side="${side}"] [data-seen-id]`));
  return items.filter((ids) => ids.some((id) => seen.has(id))).length;
}

/** Runs in the page. A notice may disappear at once: the next response clears it, and another one may replace it. */
function recordNotices(): void {
  window.noticesSoFar = [];
  new MutationObserver((records) => {
    for (const { addedNodes } of records)
      for (const { textContent } of addedNodes) window.noticesSoFar.push(textContent ?? "");
  }).observe(document.querySelector("#notices") ?? document.body, { childList: true, subtree: true });
}
