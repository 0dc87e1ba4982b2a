/** React's Fast Refresh: the state of a page after an edit. */
import { test, type Developer } from "./dev-server.js";
import { expect, idsOfPages } from "./pages.js";

test.describe("Fast Refresh after an edit", () => {
  /** Edits twice while a list with seen items is shown. Returns whether the list's elements stay. */
  async function edit(developer: Developer, change: (text: string) => string): Promise<boolean> {
    const { page } = developer;
    await expect(developer.items).toHaveText(idsOfPages(0));
    await developer.haveSeen(["item-0", "item-1"]);
    const guard = await page.evaluateHandle(() => window.adapterApp.guard);
    const first = await developer.items.first().elementHandle();
    for (const label of ["Edited", "Edited again"]) {
      developer.edit((text) => change(text).replace(/>[^<>]+<(?=\/button>\n +<ol>)/, `>${label}<`));
      await expect(page.getByRole("button", { name: label, exact: true })).toBeVisible();
      expect(await developer.ids()).toEqual(idsOfPages(0));
    }
    await developer.items.nth(5).scrollIntoViewIfNeeded();
    await developer.haveSeen(["item-5"]);
    expect(await guard.evaluate((before) => before === window.adapterApp.guard)).toBe(true);
    expect(await page.evaluate(() => window.adapterApp.opened)).toBe(1);
    expect(developer.complaints).toEqual([]);
    return first.evaluate((element) => element.isConnected);
  }

  test("of markup changes neither a list without a key, nor the guard, nor the report", async ({ developer }) => {
    await developer.open("/kept");
    expect(await edit(developer, (text) => text)).toBe(true);
    const seen = await developer.seen(idsOfPages(0));
    await expect.poll(() => developer.delivered.toSorted()).toEqual(seen);
    await developer.page.evaluate(() => window.adapterApp.unmount());
    await developer.expectNoReport();
  });

  test("of hooks, which remounts a list, changes neither one with a key nor the guard", async ({ developer }) => {
    await developer.open();
    const hook = "const { guard } = useSeenGuard(";
    expect(await edit(developer, (text) => text.replace(hook, `useState(0);\n  ${hook}`))).toBe(false);
  });
});
