/** What apps in React do beside that: routes, Suspense, a virtual list, all of it under StrictMode. */
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
