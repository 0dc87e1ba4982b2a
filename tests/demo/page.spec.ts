/** The demo's page: its explanations, its use on a phone and with a keyboard, and without its server. */
import { AxeBuilder } from "@axe-core/playwright";
import { test } from "@playwright/test";
import { demoInMemory, type RunningDemo } from "../support/processes.ts";
import { Reader, expect, showWhy } from "./reader.ts";

const PHONE = { width: 390, height: 844 };
let demo: RunningDemo;

test.beforeAll(async () => {
  demo = await demoInMemory();
});

test("more events on the way than items seen here are explained: a copy of an article has two ids", async ({
  page,
}) => {
  const reader = new Reader(page, demo.url, "puzzled");
  await reader.open();
  await reader.setStream(false);
  await expect(async () => {
    await reader.refresh();
    await reader.look();
    expect(await page.locator(".looked-at[data-group-id]").count()).toBeGreaterThan(0);
  }).toPass();
  const count = async (selector: string) => Number((await page.locator(selector).textContent())?.replaceAll(",", ""));
  await expect
    .poll(async () => (await count("#pipeline-waiting")) - (await count("#pipeline-seen")))
    .toBeGreaterThan(0);
  await expect(page.locator("#pipeline")).toHaveAccessibleDescription(/A repost .* is one item seen here, and two ids/);
  await expect(page.getByText(/A repost .* is one item seen here, and two ids on the way/)).toBeVisible();
  await expect(page.getByText(/A repost of an article that you have seen is a repeat/)).toBeVisible();
});

test("a click on a stopped item shows why it was stopped, and another hides that", async ({ page }) => {
  const reader = await withSomethingStopped(new Reader(page, demo.url, "curious"));
  const guarded = page.getByRole("region", { name: "With Seenguard" });
  await guarded
    .getByText(/^\d+ stopped$/)
    .first()
    .click();
  const item = guarded.getByRole("button", { name: /Why\?$/ }).first();
  const answer = guarded.locator(".reason").first();
  await item.click();
  await expect(item).toHaveAttribute("aria-expanded", "true");
  await expect(answer).toContainText(/Pending\. It was on this screen at \d\d:\d\d:\d\d/);
  await item.click();
  await expect(answer).toBeHidden();

  await reader.setLag(0);
  await reader.expectNothingPending();
  await item.click();
  await expect(answer).toContainText(/Remembered by this device|Known to the server/);
});

test("the counters agree with what has happened", async ({ page }) => {
  const reader = await withSomethingStopped(new Reader(page, demo.url, "counting"));
  expect(await reader.counter("impressions")).toBeGreaterThanOrEqual(reader.looked.size);
  await reader.expectAllPending();
  await expect(reader.factOf("False positives")).toHaveText("0");
  await expect(reader.factOf("Received")).toHaveText("0 B");
  await reader.setLag(0);
  await expect(reader.factOf("Received")).not.toHaveText("0 B");
  await expect(reader.factOf("False positives")).toHaveText(/^1 in [\d,.]+[KMBT]?$|^< 1 in 10¹²$/);
  const reported = await reader.counter("impressions");
  await reader.reload();
  expect(await reader.counter("impressions")).toBeGreaterThanOrEqual(reported);
});

test("scrolling to the end brings the next page of both feeds", async ({ page }) => {
  const reader = new Reader(page, demo.url, "scrolling");
  await reader.open();
  const before = (await reader.shown("unguarded")).length;
  await page.getByRole("button", { name: "Next page" }).scrollIntoViewIfNeeded();
  await page.mouse.wheel(0, 5000);
  await expect.poll(async () => (await reader.shown("unguarded")).length).toBeGreaterThan(before);
  const guarded = await reader.shown("guarded");
  expect(new Set(guarded).size).toBe(guarded.length);
});

test("a new reader starts with nothing seen", async ({ page }) => {
  const reader = await withSomethingStopped(new Reader(page, demo.url, "leaving"));
  expect(await reader.counter("stopped")).toBeGreaterThan(0);
  await page.getByRole("button", { name: "New reader" }).click();
  await expect(page).not.toHaveURL(/user=leaving/);
  const firstPages = page.locator(".block:first-child .block-title");
  await expect(firstPages).toHaveText([/^Page 1 10 shown$/, /^Page 1 /]);
  // All that may be left out of the guarded feed is one of an article and its copy, whose titles have a part in common.
  const firstPage = page.locator("#guarded .block:first-child");
  const shown = await firstPage.locator("[data-seen-id] a").allTextContents();
  const leftOut = await firstPage.locator(".stopped-item .why > span").allTextContents();
  const names = leftOut.map((title) => title.replace(/^(Repost|Edited copy): /, "").replace(/ \(.+\)/, ""));
  expect(names.filter((name) => !shown.some((title) => title.includes(name) || name.includes(title)))).toEqual([]);
});

test.describe("on a phone", () => {
  test.use({ viewport: PHONE, hasTouch: true });

  test("nothing is wider than the screen, with everything open", async ({ page }) => {
    await withSomethingStopped(new Reader(page, demo.url, "narrow"));
    await page.getByText("Stream and counters").click();
    await page.locator("seenguard-panel summary").click();
    await showWhy(page);
    for (const width of [320, PHONE.width]) {
      await page.setViewportSize({ ...PHONE, width });
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    }
  });

  test("one feed is shown at a time, and two buttons change it", async ({ page }) => {
    const reader = new Reader(page, demo.url, "pocket");
    await reader.open();
    const unguarded = page.getByRole("region", { name: "Without guard" });
    const guarded = page.getByRole("region", { name: "With Seenguard" });
    await expect(guarded).toBeVisible();
    await expect(unguarded).toBeHidden();
    await page.getByRole("button", { name: /^Without guard/ }).click();
    await expect(unguarded).toBeVisible();
    await expect(guarded).toBeHidden();
    await expect(page.getByRole("button", { name: /^Without guard/ })).toHaveAttribute("aria-pressed", "true");
  });
});

test("with the keyboard alone a person refreshes, opens the stopped items and their reasons", async ({ page }) => {
  const reader = new Reader(page, demo.url, "keys");
  await reader.open();
  await reader.look();
  const before = await reader.shown("unguarded");
  await tabTo(/Refresh both feeds/);
  await page.keyboard.press("Enter");
  await expect.poll(() => reader.shown("unguarded")).not.toEqual(before);
  await tabTo(/^\d+ stopped$/);
  await page.keyboard.press("Enter");
  await tabTo(/Why\?$/);
  await page.keyboard.press("Space");
  await expect(page.locator(".reason:visible")).toHaveCount(1);
  await page.getByRole("switch", { name: "The stream" }).focus();
  await page.keyboard.press("Space");
  await expect(page.locator("#running-text")).toHaveText("The stream is stopped");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Home");
  await expect(page.locator("#lag-text")).toHaveText("0 s");

  /** Tab by tab, as a person does; the focus can be seen wherever it is. */
  async function tabTo(name: RegExp): Promise<void> {
    for (let presses = 0; presses < 200; presses++) {
      await page.keyboard.press("Tab");
      // In a shadow root both the root's element and the one in it have the focus.
      const focus = page.locator(":focus").last();
      const outline = await focus.evaluate((element) => {
        const { outlineStyle, boxShadow } = getComputedStyle(element);
        return { visible: outlineStyle !== "none" || boxShadow !== "none", name: element.textContent.trim() };
      });
      expect(outline.visible, `the focus on "${outline.name}" can be seen`).toBe(true);
      if (name.test(outline.name)) return;
    }
    throw new Error(`no Tab leads to ${String(name)}`);
  }
});

for (const colorScheme of ["light", "dark"] as const) {
  for (const [device, viewport] of [
    ["a desk", { width: 1280, height: 900 }],
    ["a phone", PHONE],
  ] as const) {
    test.describe(`in ${colorScheme} colours on ${device}`, () => {
      test.use({ colorScheme, viewport });

      test("no accessibility rule is broken", async ({ page }) => {
        await withSomethingStopped(new Reader(page, demo.url, `axe-${colorScheme}-${device.slice(2)}`));
        await page.locator("summary:visible").evaluateAll((all) => {
          for (const summary of all as HTMLElement[])
            if (!(summary.parentElement as HTMLDetailsElement).open) summary.click();
        });
        const { violations } = await new AxeBuilder({ page }).analyze();
        expect(violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ target }) => target) }))).toEqual([]);
      });
    });
  }
}

test("a page without its server reports it, remembers what was seen, and continues when the server is back", async ({
  page,
}) => {
  const reader = new Reader(page, demo.url, "offline");
  await reader.open();
  await reader.setLag(0);
  await page.route("**/api/**", (route) => route.abort());
  await reader.look();
  await expect(page.getByRole("alert")).toContainText("What you have seen stays on this device");
  await reader.expectAllPending();
  await page.unroute("**/api/**");
  await reader.expectNothingPending();
  await expect(page.getByRole("alert")).toBeEmpty();
});

/** Seen once, offered again: with the stream's lag of a minute, the second list has items in it that are stopped. */
async function withSomethingStopped(reader: Reader): Promise<Reader> {
  await reader.open();
  await reader.seeSomethingStopped();
  return reader;
}
