/** Two devices of one person side by side: neither shows an item of the other, whatever the stream does. */
import { AxeBuilder } from "@axe-core/playwright";
import { test, type Frame, type Page } from "@playwright/test";
import { untilNamed } from "../support/pages.ts";
import { demoInMemory, type RunningDemo } from "../support/processes.ts";
import { DWELL_MS, Reader, expect, idsOf, type Side } from "./reader.ts";

test.use({ viewport: { width: 1280, height: 900 } });

let demo: RunningDemo;
test.beforeAll(async () => {
  demo = await demoInMemory();
});

test("i1: while the stream is stopped, neither device shows an item of the other, and counters show how many were left out", async ({
  page,
}) => {
  const desk = new Reader(page, demo.url, "two-devices");
  await desk.open();
  await desk.setStream(false);
  // From then on its requests contain its name.
  await untilNamed(page);
  await desk.look();
  const seenOnDesk = new Set(desk.seen);
  await reached(page, seenOnDesk.size);

  const phone = await openPhone(page);
  const seenOnPhone = new Set<string>();
  await test.step("the phone leaves out items of the desk, and counts them", async () => {
    await expect(async () => {
      const offered = count(await idsOn(phone, "unguarded"), seenOnDesk);
      expect(offered).toBeGreaterThan(0);
      await expect(page.locator("#phone .score b")).toHaveText(String(offered), { timeout: 100 });
    }).toPass();
    const isNamed = () => Object.keys(sessionStorage).some((key) => /seenguard\/.*\/r\//.test(key));
    await expect.poll(() => phone.evaluate(isNamed)).toBe(true);
    for (let refreshes = 0; refreshes < 4; refreshes++) {
      expect(count(await idsOn(phone, "guarded"), seenOnDesk)).toBe(0);
      const looked = phone.locator('.column[data-side="guarded"] .looked-at');
      await expect(looked.nth(2)).toBeVisible();
      for (const id of (await idsOf(looked)).flat()) seenOnPhone.add(id);
      // The guard looks every 100 ms, and has counted these by then.
      await phone.waitForTimeout(2 * DWELL_MS);
      await refresh(phone); // whose request reports what was seen, too
    }
  });

  await test.step("the desk leaves out items of the phone, and shows why", async () => {
    const onPhone = Number(await page.locator("#phone .score b").textContent());
    let offered = 0;
    for (let refreshes = 0; refreshes < 4; refreshes++) {
      await desk.refresh();
      offered += count(await idsOn(page, "unguarded"), seenOnPhone);
      expect(count(await idsOn(page, "guarded"), seenOnPhone)).toBe(0);
    }
    expect(offered).toBeGreaterThan(0);
    expect(Number(await page.locator("#count-elsewhere").textContent())).toBeGreaterThan(onPhone);
    const reasons = page.locator("#guarded .reason").filter({ hasText: "another of your devices showed it" });
    await expect(async () => {
      await desk.refresh();
      await page.locator("#guarded .why").evaluateAll((all) => {
        for (const why of all as HTMLElement[]) why.click();
      });
      expect(await reasons.count()).toBeGreaterThan(0);
    }).toPass();
  });

  await test.step("nor does it once the stream has caught up", async () => {
    await desk.setLag(0);
    await desk.setStream(true);
    await desk.expectNothingPending();
    await refresh(phone);
    expect(count(await idsOn(phone, "guarded"), seenOnDesk)).toBe(0);
    expect(await desk.counter("repeats-guarded")).toBe(0);
    expect(await desk.counter("repeats-unguarded")).toBeGreaterThan(0);
  });
});

test.describe("the phone next to the feeds", () => {
  test("is there after a reload, and gone when it is switched off", async ({ page }) => {
    const desk = new Reader(page, demo.url, "pocketed");
    await desk.open();
    await openPhone(page);
    await desk.reload();
    await expect(page.frameLocator("#phone iframe").locator(".block").first()).toBeAttached();
    await page.getByRole("switch", { name: "Read on a phone, too" }).uncheck();
    await expect(page.locator("iframe")).toHaveCount(0);
    await desk.reload();
    await expect(page.getByRole("switch", { name: "Read on a phone, too" })).not.toBeChecked();
  });

  for (const width of [1280, 390]) {
    test(`fits and is accessible, ${String(width)} wide`, async ({ page }) => {
      await page.setViewportSize({ width, height: 844 });
      await new Reader(page, demo.url, `axe-${String(width)}`).open();
      if (width < 1024) await page.getByText("Stream and counters").click();
      for (const document of [page, await openPhone(page)])
        expect(await document.evaluate(() => window.document.documentElement.scrollWidth - innerWidth)).toBe(0);
      // The frame has the landmarks of the page again, under a title of its own.
      const { violations } = await new AxeBuilder({ page }).disableRules("landmark-unique").analyze();
      expect(violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ target }) => target) }))).toEqual([]);
    });
  }
});

/** Switches the second device on; it has its first page. */
async function openPhone(page: Page): Promise<Frame> {
  await page.getByRole("switch", { name: "Read on a phone, too" }).check();
  await expect(page.frameLocator("#phone iframe").locator("#feeds")).toBeAttached();
  const [frame] = page.mainFrame().childFrames();
  if (!frame) throw new Error("the phone has no page");
  await settled(frame);
  return frame;
}

async function refresh(device: Frame): Promise<void> {
  await device.getByRole("button", { name: "Refresh both feeds" }).click();
  await settled(device);
}

async function settled(device: Frame): Promise<void> {
  await expect(device.locator("#feeds:not([aria-busy]) .block").first()).toBeAttached();
}

/** Resolves when this number of events has reached the server. */
async function reached(page: Page, events: number): Promise<void> {
  await expect
    .poll(async () => Number(await page.locator("#pipeline-waiting").textContent()))
    .toBeGreaterThanOrEqual(events);
}

/** All ids of each item in a column. */
function idsOn(device: Page | Frame, side: Side): Promise<string[][]> {
  return idsOf(device.locator(`.column[data-side="${side}"] [data-seen-id]`));
}

/** How many of these items have an id that was seen. */
function count(items: readonly (readonly string[])[], seen: ReadonlySet<string>): number {
  return items.filter((ids) => ids.some((id) => seen.has(id))).length;
}
