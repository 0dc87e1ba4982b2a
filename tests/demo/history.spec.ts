/**
 * Actions of a person on the page besides reading: making a stopped item unseen, deleting the history, reading on in a
 * small pool; and copies and references on the page.
 */
import { AxeBuilder } from "@axe-core/playwright";
import { test, type Locator, type Page } from "@playwright/test";
import { demoInMemory, type RunningDemo } from "../support/processes.ts";
import { DWELL_MS, Reader, expect } from "./reader.ts";

let demo: RunningDemo;

test.use({ viewport: { width: 1280, height: 900 } });
test.beforeAll(async () => {
  demo = await demoInMemory();
});

/** A reader with a list in which something was stopped, and that list of what was stopped open. */
async function withSomethingStopped(page: Page, user: string): Promise<Reader> {
  const reader = new Reader(page, demo.url, user);
  await reader.open();
  await reader.setStream(false);
  await reader.seeSomethingStopped();
  await reader.page.locator("#guarded .stopped > summary").first().click();
  return reader;
}

function firstStopped({ page }: Reader): Locator {
  return page.locator("#guarded .stopped li").first();
}

/** The id of the item that has this name, wherever the server offers it. */
async function stoppedTitle(reader: Reader): Promise<string> {
  const name = (await firstStopped(reader).locator(".why span").textContent()) ?? "";
  return name.replace(/^(Repost|Edited copy): /, "");
}

test("a stopped item that is made unseen is in its list again, on the server and in other lists, too", async ({
  page,
}) => {
  const reader = await withSomethingStopped(page, "again");
  const title = await stoppedTitle(reader);
  const before = await reader.shown("guarded");
  await firstStopped(reader).getByRole("button", { name: "Show again" }).click();
  const item = reader
    .items("guarded")
    .filter({ hasText: title.replace(/ \(.+\)$/, "") })
    .first();
  await expect(item).toBeInViewport();
  await expect(item.getByRole("link")).toBeFocused();
  await expect(item).not.toHaveClass(/repeat/);
  const [id = ""] = (await reader.shown("guarded")).filter((each) => !before.includes(each));
  expect(id).not.toBe("");
  await expect(page.locator("#announcement")).toContainText("is shown again");

  await test.step("once it was seen again and reported, it is stopped like any other", async () => {
    await expect(item).toHaveClass(/looked-at/);
    await reader.setLag(0);
    await reader.setStream(true);
    await reader.expectNothingPending();
    for (let round = 0; round < 3; round++) {
      await reader.refresh();
      expect(await reader.shown("guarded")).not.toContain(id);
    }
    expect(await reader.counter("repeats-guarded")).toBe(0);
  });
});

test("a deleted history is gone on the server and in every tab, and seen items are shown again", async ({
  page,
  context,
}) => {
  const reader = new Reader(page, demo.url, "forgotten");
  await reader.open();
  await reader.setLag(0);
  await reader.look();
  await reader.refreshAndLook(2);
  await reader.expectNothingPending();
  await reader.setStream(false);
  await reader.refreshAndLook(1); // some of it has not reached the server
  expect(await reader.pending()).toBeGreaterThan(0);
  const other = new Reader(await context.newPage(), demo.url, reader.user);
  await other.page.goto(`${demo.url}?user=${reader.user}&dwell=100000`);
  await expect(other.factOf("Pending")).not.toHaveText("0");
  await page.bringToFront();
  await page.getByRole("button", { name: "Delete my history" }).click();
  await expect(page.locator("#history-said")).toContainText("Deleted");
  await other.page.bringToFront();
  const seenBefore = new Set(reader.seen);
  await expect(async () => {
    await other.refresh();
    expect(await other.repeats("guarded", seenBefore)).not.toEqual([]);
  }).toPass();
  await expect(other.page.locator("#guarded .repeat")).toHaveCount(0);
  await page.bringToFront();
  await reader.reload();
  await reader.setStream(true);
  await reader.look();
  reader.seen.clear();
  await reader.look();
  expect((await reader.refreshAndLook(2)).guarded).toBe(0);
});

const EDITED_COPY = /An edited copy of “(.+)”, by the Simhash of its text: stopped by that item's id/;

test("an edited copy of a seen article is not shown, and its reason names the original", async ({ page }) => {
  test.setTimeout(120_000);
  const reader = new Reader(page, demo.url, "edited");
  await reader.open();
  await reader.setStream(false);
  await reader.look();
  const copies = page.locator("#guarded .stopped li").filter({ hasText: "Edited copy: " });
  const stoppedByGroup = copies.filter({ hasText: EDITED_COPY }).first();
  await expect(async () => {
    expect((await reader.refreshAndLook(1)).guarded).toBe(0);
    // Some copies were seen themselves.
    await copies.getByRole("button", { name: /Why\?/, includeHidden: true }).evaluateAll((buttons) => {
      for (const button of buttons as HTMLElement[]) button.click();
    });
    await expect(stoppedByGroup).toBeAttached({ timeout: 100 });
  }).toPass({ timeout: 100_000 });
  const title = (await stoppedByGroup.locator(".why > span").textContent()) ?? "";
  const [, original = ""] = EDITED_COPY.exec((await stoppedByGroup.locator(".reason").textContent()) ?? "") ?? [];
  expect(original).not.toBe("");
  expect(title).toContain(original);
  expect(await reader.counter("repeats-guarded")).toBe(0);
});

test("from a small pool, the items seen longest ago come last and are marked as seen", async ({ page }) => {
  const reader = new Reader(page, demo.url, "small");
  await reader.open();
  await page.getByRole("switch", { name: "Read from a small pool" }).check();
  await expect(page.locator("#guarded .block")).not.toHaveCount(0);
  await expect(async () => {
    await reader.refresh();
    await reader.look();
    await page.getByRole("button", { name: "Next page" }).click();
    await reader.look();
    await page.getByRole("button", { name: "Next page" }).click();
    await reader.look();
    expect(new Set(reader.seen).size).toBeGreaterThanOrEqual(24);
  }).toPass({ timeout: 45_000 });
  await reader.refresh();
  const items = reader.items("guarded");
  await expect(items.first()).toHaveClass(/last/);
  await expect(items.first()).toContainText(/Shown last: you saw it .+ ago/);
  await expect(page.locator("#guarded .block-title").first()).toContainText("seen before");
  expect(await reader.counter("repeats-guarded")).toBe(0);
  const shown = await reader.shown("guarded");
  expect(new Set(shown).size).toBe(shown.length);
});

test.describe("an article and the way back", () => {
  test("shows the same items at the same scroll position, the item just read included; a reload begins a new list", async ({
    page,
  }) => {
    const reader = new Reader(page, demo.url, "article");
    await reader.open();
    await reader.look();
    await reader.refreshAndLook(2);
    const shown = await reader.shown("guarded");
    const link = reader.items("guarded").getByRole("link").nth(6);
    const title = (await link.textContent()) ?? "";
    await link.scrollIntoViewIfNeeded();
    const scrolled = await page.evaluate(() => scrollY);
    expect(scrolled).toBeGreaterThan(0);

    await reader.openArticle(title);
    await expect(page).toHaveURL(/article\.html/);
    await expect(page.getByRole("heading", { level: 1 })).toContainText(title);
    expect((await new AxeBuilder({ page }).analyze()).violations.map(({ id }) => id)).toEqual([]);
    await reader.goBack();
    expect((await reader.shown("guarded")).slice(0, shown.length)).toEqual(shown);
    expect(Math.abs((await page.evaluate(() => scrollY)) - scrolled)).toBeLessThan(2);

    await reader.openArticle(title);
    await page.reload();
    await reader.goBack();
    expect((await reader.shown("guarded")).slice(0, shown.length)).toEqual(shown);
    await reader.reload();
    const seen = new Set(reader.seen);
    expect((await reader.shown("guarded")).filter((id) => seen.has(id))).toEqual([]);
    expect((await reader.refreshAndLook(2)).guarded).toBe(0);
  });

  test("a missing article is reported, with a link back to the feed", async ({ page }) => {
    await page.goto(`${demo.url}article.html?user=lost&dwell=${String(DWELL_MS)}&item=nothing`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("This article cannot be shown");
    await page.getByRole("link", { name: "Back to the feed" }).click();
    await expect(page.locator("#reader")).toHaveText("lost");
  });
});
