/** Apps in React with routes, Suspense, `<Activity>` and a virtual list, all under StrictMode. */
import { expect, idsOfPages, test } from "./pages.js";

test("the list is the same after a route that was loaded under Suspense, and its guard still open", async ({
  reader,
}) => {
  await reader.open();
  await expect(reader.items).toHaveText(idsOfPages(0));
  await reader.haveSeen(["item-0"]);
  const first = await reader.page.evaluateHandle(() => window.adapterApp.guard);
  await reader.page.getByRole("link", { name: "Article" }).click();
  await expect(reader.items).toHaveCount(0);
  await reader.page.getByRole("link", { name: "Back" }).click();
  await expect(reader.items).toHaveText(idsOfPages(0));
  expect(await first.evaluate((guard) => guard === window.adapterApp.guard)).toBe(true);
  expect(reader.complaints).toEqual([]);
});

test("a change between routes that hold the same guard does not close it", async ({ reader }) => {
  await reader.open();
  await expect(reader.items).toHaveText(idsOfPages(0));
  const first = await reader.page.evaluateHandle(() => window.adapterApp.guard);
  await reader.page.getByRole("link", { name: "Virtual" }).click();
  await expect(reader.items.first()).toHaveText("row-0");
  expect(
    await first.evaluate((guard) => guard === window.adapterApp.guard && guard?.apply({ shards: [] }).applied),
  ).toBe(true);
  expect(reader.complaints).toEqual([]);
});

test("a virtual list records each row that was in view, though its elements are reused, and no other", async ({
  reader,
}) => {
  const { page } = reader;
  await reader.open("/virtual");
  await reader.haveSeen(["row-0", "row-1", "row-2", "row-3"]);
  const elements = await page.evaluateHandle(() => new Set(document.querySelectorAll("li")));
  await page.locator("#scroller").evaluate((scroller) => scroller.scrollTo(0, 5_000));
  await reader.haveSeen(["row-100", "row-101", "row-102", "row-103"]);
  const reused = await elements.evaluate(
    (before) => [...document.querySelectorAll("li")].filter((element) => before.has(element)).length,
  );
  expect(reused).toBeGreaterThan(0);
  const others = Array.from({ length: 80 }, (_, index) => `row-${String(index + 10)}`);
  expect(await reader.seen(others)).toEqual([]);
  expect(reader.complaints).toEqual([]);
});

test("a list that `<Activity>` hides is neither observed nor reported; shown again it is unchanged, and both continue", async ({
  reader,
}) => {
  const { page } = reader;
  await reader.open("/kept");
  await expect(reader.items).toHaveText(idsOfPages(0));
  await reader.haveSeen(["item-0", "item-1"]);
  const before = await reader.seen(idsOfPages(0));
  await expect.poll(() => reader.delivered.toSorted()).toEqual(before);
  // In the middle of its dwell.
  await page.evaluate(hideAsItComesIntoView, "item-5");
  await expect(reader.items.nth(5)).toBeHidden();
  await reader.expectNoReport();
  // Items that are not hidden are in view for as long.
  await page.evaluate(() => void window.adapterApp.guard?.observeItem(document.body, "around", { dwellMs: 200 }));
  await reader.haveSeen(["around"]);
  expect(await reader.seen(idsOfPages(0))).toEqual(before);
  await reader.press("Hide or show");
  await expect(reader.items.nth(5)).toBeVisible();
  expect(await reader.ids()).toEqual(idsOfPages(0));
  await reader.items.nth(5).scrollIntoViewIfNeeded();
  await reader.haveSeen(["item-5"]);
  await expect.poll(() => reader.delivered, { timeout: 20_000 }).toEqual(expect.arrayContaining(["around", "item-5"]));
  expect(reader.complaints).toEqual([]);
});

/** Scrolls there, and hides the list in the very task in which observers are notified. */
function hideAsItComesIntoView(id: string): void {
  const item = [...document.querySelectorAll("li")].find(({ textContent }) => textContent === id);
  const button = [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Hide or show");
  if (!item || !button) throw new Error("there is no such list");
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.at(-1)?.isIntersecting) return;
      observer.disconnect();
      button.click();
    },
    { threshold: 0.5 },
  );
  observer.observe(item);
  item.scrollIntoView();
}
