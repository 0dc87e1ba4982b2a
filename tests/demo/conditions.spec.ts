/**
 * The demo's section "Make it go wrong": under each of its conditions, the guarded feed repeats no seen item.
 */
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

/** Runs an action, and waits for the response to its request. */
async function answered(page: Page, path: string, action: () => Promise<void>): Promise<void> {
  const answered = page.waitForResponse((response) => response.url().endsWith(path) && response.ok());
  await action();
  await answered;
}

test("i1: with 10% of events lost, the lost ones stay pending and are not repeated", async ({ page }) => {
  const reader = await readerOf(page, "lossy");
  await reader.expectNothingPending();
  await answered(page, "/stream", () => page.getByLabel("Lose 10% of events").check());
  expect((await reader.refreshAndLook(4)).guarded).toBe(0);
  await expect(page.locator("#lost")).not.toHaveText("0");
  await expect(page.locator("#pipeline-waiting")).toHaveText("0");
  // The stream has delivered all events that it had not lost: those pending now will never arrive.
  await expect
    .poll(async () => (await reader.pending()) <= Number(await page.locator("#lost").textContent()))
    .toBe(true);
  expect(await reader.pending()).toBeGreaterThan(0);
  const repeats = await reader.refreshAndLook(4);
  expect(repeats.guarded).toBe(0);
  expect(repeats.unguarded).toBeGreaterThan(0);
  expect(await reader.counter("repeats-guarded")).toBe(0);
});

test("from a replica that lags, older snapshots are refused, and no item is repeated", async ({ page }) => {
  const reader = await readerOf(page, "flapping");
  await reader.expectNothingPending();
  await answered(page, "/stream", () => page.getByLabel("Serve from a lagging replica").check());
  const repeats = await reader.refreshAndLook(6);
  await reader.expectNothingPending();
  const later = await reader.refreshAndLook(4);
  expect([repeats.guarded, later.guarded]).toEqual([0, 0]);
  expect(later.unguarded).toBeGreaterThan(0); // though the server's newest state has it all
  await expect(page.locator("#older-states")).not.toHaveText("0");
  expect(await reader.counter("repeats-guarded")).toBe(0);
});

test("where the storage is too large to be filled, a reader with a small one is opened, and that is filled", async ({
  page,
}) => {
  const large = await readerOf(page, "roomy");
  await page.getByRole("button", { name: "Fill the storage" }).click();
  await expect(page.locator("#fill-said")).toContainText("too much to fill");
  const [name, dwell] = [large.user, new URL(page.url()).searchParams.get("dwell")];
  await page.getByRole("link", { name: "Start again with a small storage" }).click();
  await expect(page.locator("#reader")).not.toHaveText(name);
  expect(dwell).toBe(String(DWELL_MS));
  const reader = new Reader(page, demo.url, (await page.locator("#reader").textContent()) ?? "");
  await expect(page.locator("#storage-state")).toHaveText("Impressions are stored in the demo's own storage.");
  const alerts = await alertsOf(page);
  await page.getByText("Make it go wrong").click();
  await reader.setStream(false);
  await page.getByRole("button", { name: "Fill the storage" }).click();
  await expect(page.locator("#fill-said")).toContainText("Filled with");
  expect((await reader.refreshAndLook(3)).guarded).toBe(0);
  await expect.poll(() => alerts.evaluate((all) => all.join())).toContain("the storage is full");
});

/** All alerts of the page from now on. A full storage is reported once: then rows are removed, and there may be room. */
function alertsOf(page: Page): Promise<JSHandle<string[]>> {
  return page.getByRole("alert").evaluateHandle((alert) => {
    const all: string[] = [];
    new MutationObserver(() => all.push(alert.textContent)).observe(alert, { childList: true, subtree: true });
    return all;
  });
}
