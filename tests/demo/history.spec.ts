/**
 * What a person does beside reading, as it looks on the page: shows a stopped item again, deletes the history, reads on
 * in a small pool; and what the page does with copies and references.
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
  await reader.look();
  await expect(async () => {
    await reader.refresh();
    await expect(firstStopped(reader)).toBeAttached({ timeout: 100 });
    await reader.look();
  }).toPass();
  await reader.page.locator("#guarded .stopped > summary").first().click();
  return reader;
}

function firstStopped({ page }: Reader): Locator {
  return page.locator("#guarded .stopped li").first();
}

/** The id of the item that has this name, wherever the server offers it. */
async function stoppedTitle(reader: Reader): Promise<string> {
  return (await firstStopped(reader).locator(".why span").textContent()) ?? "";
}

test("a stopped item that is shown again is back in its list, and the server and other lists know", async ({
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

  await test.step("once it was seen and reached the server, it is stopped as any other", async () => {
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

test("what was made unseen in one browser is offered in another one of the same reader", async ({ page, browser }) => {
  const reader = await withSomethingStopped(page, "again-elsewhere");
  // From now on nothing is looked at for long enough.
  const idle = `${demo.url}?user=${reader.user}&dwell=100000`;
  await page.goto(idle);
  await expect(async () => {
    await reader.refresh();
    await expect(firstStopped(reader)).toBeAttached({ timeout: 100 });
  }).toPass();
  await page.locator("#guarded .stopped > summary").first().click();
  await reader.setLag(0);
  await reader.setStream(true);
  await reader.expectNothingPending();
  await firstStopped(reader).getByRole("button", { name: "Show again" }).click();
  await expect.poll(async () => (await takenBack(reader.user)).size).toBeGreaterThan(0);
  const unseen = await takenBack(reader.user);

  const context = await browser.newContext();
  const other = new Reader(await context.newPage(), demo.url, reader.user);
  await other.page.goto(idle);
  await expect(async () => {
    await other.refresh();
    expect((await other.shown("guarded")).filter((id) => unseen.has(id))).not.toEqual([]);
  }).toPass({ timeout: 30_000 });
  await context.close();
});

/** The ids that the server has as taken back. */
async function takenBack(user: string): Promise<Set<string>> {
  const status = (await (await fetch(`${demo.url}api/users/${user}/status`)).json()) as {
    snapshot: { unseen?: { id: string }[] };
  };
  return new Set(status.snapshot.unseen?.map(({ id }) => id));
}

test("a deleted history is gone on the server and in every tab, and what was seen comes again", async ({
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

for (const [kind, reason] of [
  ["Repost", /A repost of “(.+)”, by its address: stopped by that item's id/],
  ["Edited copy", /An edited copy of “(.+)”, by the Simhash of its text: stopped by that item's id/],
] as const) {
  test(`a copy of a seen article is not shown, and says what it is a copy of: ${kind}`, async ({ page }) => {
    test.setTimeout(120_000);
    const reader = new Reader(page, demo.url, kind.replace(" ", "-"));
    await reader.open();
    await reader.setStream(false);
    await reader.look();
    const copies = page.locator("#guarded .stopped li").filter({ hasText: `${kind}: ` });
    const stoppedByGroup = copies.filter({ hasText: reason }).first();
    await expect(async () => {
      expect((await reader.refreshAndLook(1)).guarded).toBe(0);
      // Some copies were seen themselves.
      await copies.getByRole("button", { name: /Why\?/, includeHidden: true }).evaluateAll((buttons) => {
        for (const button of buttons as HTMLElement[]) button.click();
      });
      await expect(stoppedByGroup).toBeAttached({ timeout: 100 });
    }).toPass({ timeout: 100_000 });
    const title = (await stoppedByGroup.locator(".why > span").textContent()) ?? "";
    const [, original = ""] = reason.exec((await stoppedByGroup.locator(".reason").textContent()) ?? "") ?? [];
    expect(original).not.toBe("");
    expect(title).toContain(original);
    expect(await reader.counter("repeats-guarded")).toBe(0);
  });
}

test("references spare most of what a refresh would bring", async ({ page }) => {
  const user = "spared";
  const ids = Array.from({ length: 3000 }, (_, number) => `elsewhere ${String(number)}`);
  await fetch(`${demo.url}api/users/${user}/stream`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ lagSeconds: 0 }),
  });
  for (let from = 0; from < ids.length; from += 1000) {
    const now = Date.now();
    const impressions = ids.slice(from, from + 1000).map((id) => ({ id, at: now }));
    await fetch(`${demo.url}api/users/${user}/impressions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ namespace: `demo:${user}`, now, impressions }),
    });
  }
  const reader = new Reader(page, demo.url, user);
  await reader.open();
  await expect.poll(() => bytesReceived(reader)).toBeGreaterThan(5000);
  const first = await bytesReceived(reader);
  await reader.look();
  await reader.refreshAndLook(3);
  await reader.refresh();
  await expect.poll(() => referencesIn(reader)).toBeGreaterThanOrEqual(6);
  expect((await bytesReceived(reader)) - first).toBeLessThan(first);

  await test.step("and a reload costs a refresh, not a full list", async () => {
    // A page that hides stores its snapshot once its impressions are: those that are stored already are in no one's way.
    await reader.look();
    await expect(reader.factOf("Undelivered")).toHaveText("0");
    await reader.reload();
    await reader.refresh();
    await expect.poll(() => referencesIn(reader)).toBeGreaterThan(0);
    expect(await bytesReceived(reader)).toBeLessThan(first / 2); // since the reload
  });
});

async function bytesReceived(reader: Reader): Promise<number> {
  const [, value = "", unit = ""] =
    /^([\d,.]+) (\w+)$/.exec((await reader.factOf("Received").textContent()) ?? "") ?? [];
  return Number(value.replaceAll(",", "")) * (unit === "kB" ? 1000 : 1);
}

/** How many shards came as references. */
async function referencesIn(reader: Reader): Promise<number> {
  return parseInt((await reader.factOf("By reference").textContent()) ?? "", 10);
}

test("from a small pool, the oldest of what was seen come last and are marked as such", async ({ page }) => {
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
  test("brings the same items in the same place, the item just read included; a reload brings a new list", async ({
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

  test("an article that is not there says so, and the way back leads to the feed", async ({ page }) => {
    await page.goto(`${demo.url}article.html?user=lost&dwell=${String(DWELL_MS)}&item=nothing`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("This article cannot be shown");
    await page.getByRole("link", { name: "Back to the feed" }).click();
    await expect(page.locator("#reader")).toHaveText("lost");
  });
});
