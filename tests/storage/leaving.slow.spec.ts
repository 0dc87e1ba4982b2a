/** A page that hides or closes: its unsaved changes reach the next visit and other tabs, and stashes do not accumulate. */
import type { Page } from "@playwright/test";
import { expect, flush, fresh, idsOf, openGuard, record, stashesOn, test, visit } from "../support/pages.js";

/** From now on IndexedDB refuses every write. */
const refuseWrites = (page: Page) =>
  page.evaluate(() => {
    IDBObjectStore.prototype.put = () => {
      throw new DOMException("refused", "UnknownError");
    };
  });

const hide = (page: Page) => page.evaluate(() => dispatchEvent(new Event("pagehide")));

/** The total length of the rows in localStorage. */
const charactersInLocalStorage = (page: Page) =>
  page.evaluate(() =>
    Object.entries<string>(localStorage)
      .filter(([key]) => key.startsWith("seenguard/"))
      .reduce((sum, [, text]) => sum + text.length, 0),
  );

test("i6: while IndexedDB refuses writes a page has one stash, however often it hides, and the next visit saves it", async ({
  page,
  site,
}) => {
  const uncaught: Error[] = [];
  page.on("pageerror", (error) => uncaught.push(error));
  await visit(page, site);
  await refuseWrites(page);
  const ids = idsOf("seen", 4_000);
  for (let start = 0; start < ids.length; start += 80) {
    await record(page, ids.slice(start, start + 80));
    await hide(page);
  }
  expect(await stashesOn(page)).toHaveLength(1);
  expect(await charactersInLocalStorage(page)).toBeLessThanOrEqual(50_000);
  expect(uncaught).toEqual([]);
  await page.reload();
  await openGuard(page);
  // A stash has the latest thousand.
  expect(await fresh(page, [...ids.slice(-1_000), "new"])).toEqual(["new"]);
  await page.waitForTimeout(2_500);
  await flush(page);
  await expect.poll(() => stashesOn(page)).toEqual([]);
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, [...ids.slice(-1_000), "new"])).toEqual(["new"]);
});

test("i6: other tabs get impressions that a page records as it closes", async ({ context, site }) => {
  const [going, staying] = [await context.newPage(), await context.newPage()];
  for (const page of [going, staying]) await visit(page, site);
  await going.evaluate(() => {
    addEventListener("pagehide", () => window.guard.record("last"), { capture: true });
  });
  await going.goto("about:blank");
  await expect.poll(() => fresh(staying, ["last", "new"])).toEqual(["new"]);
});
