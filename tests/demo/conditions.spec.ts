/**
 * The demo's section "Make it go wrong": under each of its conditions, nothing that was seen comes back on the guarded
 * side.
 */
import { AxeBuilder } from "@axe-core/playwright";
import { test, type JSHandle, type Page } from "@playwright/test";
import { demoInMemory, type RunningDemo } from "../support/processes.ts";
import { DWELL_MS, Reader, expect } from "./reader.ts";

let demo: RunningDemo;

test.use({ viewport: { width: 1280, height: 900 } });
test.beforeAll(async () => {
  demo = await demoInMemory();
});

/** A reader whose impressions arrive at once, with the section open. */
async function readerOf(page: Page, user: string): Promise<Reader> {
  const reader = new Reader(page, demo.url, user);
  await reader.open();
  await page.getByText("Make it go wrong").click();
  await reader.setLag(0);
  await reader.look();
  return reader;
}

/** What `action` tells the server has been taken. */
async function told(page: Page, path: string, action: () => Promise<void>): Promise<void> {
  const answered = page.waitForResponse((response) => response.url().endsWith(path) && response.ok());
  await action();
  await answered;
}

test("i1: with 10% of events lost, the lost ones stay pending and do not come back", async ({ page }) => {
  const reader = await readerOf(page, "lossy");
  await reader.expectNothingPending();
  await told(page, "/stream", () => page.getByLabel("Lose 10% of events").check());
  expect((await reader.refreshAndLook(4)).guarded).toBe(0);
  await expect(page.locator("#lost")).not.toHaveText("0");
  await expect(page.locator("#pipeline-waiting")).toHaveText("0");
  // The stream has let everything through that it had not lost: what is pending now, it will never bring.
  await expect
    .poll(async () => (await reader.pending()) <= Number(await page.locator("#lost").textContent()))
    .toBe(true);
  expect(await reader.pending()).toBeGreaterThan(0);
  const repeats = await reader.refreshAndLook(4);
  expect(repeats.guarded).toBe(0);
  expect(repeats.unguarded).toBeGreaterThan(0);
  expect(await reader.counter("repeats-guarded")).toBe(0);
});

test("from a replica that lags, older states come and are refused, and nothing comes back", async ({ page }) => {
  const reader = await readerOf(page, "flapping");
  await reader.expectNothingPending();
  await told(page, "/stream", () => page.getByLabel("Serve from a lagging replica").check());
  const repeats = await reader.refreshAndLook(6);
  await reader.expectNothingPending();
  const later = await reader.refreshAndLook(4);
  expect([repeats.guarded, later.guarded]).toEqual([0, 0]);
  expect(later.unguarded).toBeGreaterThan(0); // though the server's newest state has it all
  await expect(page.locator("#older-states")).not.toHaveText("0");
  expect(await reader.counter("repeats-guarded")).toBe(0);
});

test("i1: after the server's store was flushed, nothing comes back", async ({ page }) => {
  const reader = await readerOf(page, "flushed");
  await reader.refreshAndLook(2);
  await reader.expectNothingPending();
  await reader.setStream(false);
  await page.getByRole("button", { name: "Flush the server's store" }).click();
  await expect(page.locator("#flush-said")).toContainText("the server knows nothing any more");
  const repeats = await reader.refreshAndLook(4);
  expect(repeats.guarded).toBe(0);
  expect(repeats.unguarded).toBeGreaterThan(0);
});

test("two tabs that look at the same time count together, and neither brings back what the other showed", async ({
  page,
  context,
}) => {
  const first = new Reader(page, demo.url, "twofold");
  await first.open();
  await first.setStream(false);
  await page.getByText("Make it go wrong").click();
  const opening = context.waitForEvent("page");
  await page.getByRole("button", { name: "Open a second tab" }).click();
  const second = new Reader(await opening, demo.url, first.user);
  await expect(second.page.locator("#feeds:not([aria-busy]) .block").first()).toBeAttached();
  for (let round = 0; round < 3; round++) {
    await Promise.all([first.look(), second.look()]);
    // Each guard has been notified of what the other recorded.
    await expect.poll(() => pendingOfBoth(first, second)).toBe("the same");
    const seen = new Set([...first.seen, ...second.seen]);
    await Promise.all([first.refresh(), second.refresh()]);
    for (const reader of [first, second]) expect(await reader.repeats("guarded", seen)).toEqual([]);
  }
  const impressions = await first.counter("impressions");
  expect(impressions).toBeGreaterThanOrEqual(new Set([...first.looked, ...second.looked]).size);
  expect(impressions).toBeGreaterThan(first.looked.size);
  await expect.poll(() => second.counter("impressions")).toBeGreaterThanOrEqual(impressions);
  expect(await first.counter("repeats-guarded")).toBe(0);
  expect(await second.counter("repeats-guarded")).toBe(0);
});

async function pendingOfBoth(first: Reader, second: Reader): Promise<string> {
  const [one, other] = [await first.pending(), await second.pending()];
  const all = new Set([...first.seen, ...second.seen]).size;
  return one === other && one >= all ? "the same" : `${String(one)} and ${String(other)} of ${String(all)}`;
}

test("with the storage full, the page says so and goes on, and keeps all when there is room again", async ({
  page,
  context,
}) => {
  test.slow();
  // Before the page is opened: Chromium trusts for a while what it has once learnt of the room there is.
  const session = await context.newCDPSession(page);
  await session.send("Storage.overrideQuotaForOrigin", { origin: new URL(demo.url).origin, quotaSize: 2_000_000 });
  const reader = await readerOf(page, "crammed");
  await reader.setStream(false);
  const alerts = await alertsOf(page);
  await page.getByRole("button", { name: "Fill the storage" }).click();
  await expect(page.locator("#fill-said")).toContainText("Filled with");
  expect((await reader.refreshAndLook(3)).guarded).toBe(0);
  await expect(page.locator("#storage-state")).toContainText("The storage is full");
  await expect.poll(() => alerts.evaluate((all) => all.join())).toContain("the storage is full");
  await page.getByRole("button", { name: "Free it" }).click();
  // What has failed for long is tried again after a minute.
  await expect(page.locator("#storage-state")).toHaveText("Impressions are kept in IndexedDB.", { timeout: 90_000 });
  await expect(page.getByRole("alert")).toBeEmpty();
  const seenBefore = new Set(reader.seen);
  await reader.reload();
  await reader.refresh();
  expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
  expect((await reader.refreshAndLook(1)).guarded).toBe(0);
});

test("where the storage is too large to be filled, a reader with a small one begins, and that is filled", async ({
  page,
}) => {
  const large = await readerOf(page, "roomy");
  await page.getByRole("button", { name: "Fill the storage" }).click();
  await expect(page.locator("#fill-said")).toContainText("too much to fill");
  const [name, dwell] = [large.user, new URL(page.url()).searchParams.get("dwell")];
  await page.getByRole("link", { name: "Start anew with a small storage" }).click();
  await expect(page.locator("#reader")).not.toHaveText(name);
  expect(dwell).toBe(String(DWELL_MS));
  const reader = new Reader(page, demo.url, (await page.locator("#reader").textContent()) ?? "");
  await expect(page.locator("#storage-state")).toHaveText("Impressions are kept in the demo's own storage.");
  const alerts = await alertsOf(page);
  await page.getByText("Make it go wrong").click();
  await reader.setStream(false);
  await page.getByRole("button", { name: "Fill the storage" }).click();
  await expect(page.locator("#fill-said")).toContainText("Filled with");
  expect((await reader.refreshAndLook(3)).guarded).toBe(0);
  await expect.poll(() => alerts.evaluate((all) => all.join())).toContain("the storage is full");
});

/** All that the page says from now on. A full storage is told once; then rows make way, so that there may be room again. */
function alertsOf(page: Page): Promise<JSHandle<string[]>> {
  return page.getByRole("alert").evaluateHandle((alert) => {
    const all: string[] = [];
    new MutationObserver(() => all.push(alert.textContent)).observe(alert, { childList: true, subtree: true });
    return all;
  });
}

test("the keyboard alone opens the section and uses every control of it", async ({ page, context }) => {
  const reader = new Reader(page, demo.url, "wrong-keys");
  await reader.open();
  await page.getByText("Make it go wrong").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await told(page, "/stream", () => page.keyboard.press("Space"));
  await expect(page.getByLabel("Lose 10% of events")).toBeChecked();
  await page.keyboard.press("Tab");
  await told(page, "/stream", () => page.keyboard.press("Space"));
  await expect(page.getByLabel("Serve from a lagging replica")).toBeChecked();
  await page.keyboard.press("Tab");
  await told(page, "/flush", () => page.keyboard.press("Enter"));
  await page.keyboard.press("Tab");
  const opening = context.waitForEvent("page");
  await page.keyboard.press("Enter");
  expect((await opening).url()).toBe(page.url());
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Fill the storage" })).toBeFocused();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page.locator("#fill-said")).toContainText("There is room again");
  expect((await new AxeBuilder({ page }).analyze()).violations.map(({ id }) => id)).toEqual([]);
});

test("the guard's panel says the lag in words, and plots it", async ({ page }) => {
  const reader = new Reader(page, demo.url, "charted");
  await reader.open();
  await reader.setStream(false);
  await reader.look();
  const words = reader.panel.locator("figcaption");
  await expect(words).toContainText("The oldest pending impression has waited");
  await expect(reader.panel.locator("figure svg")).toBeVisible();
  await reader.setLag(0);
  await reader.setStream(true);
  await expect(words).toContainText(/^Nothing is pending\. \d+ impressions reached the server: half within/);
});
