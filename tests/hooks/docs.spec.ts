/** The examples of docs/frameworks.md for React, Vue and Svelte work as documented. */
import { frameworks } from "./build.js";
import { expect, idsOfPages, KNOWN, test } from "./pages.js";

for (const framework of frameworks) {
  test.describe(framework, () => {
    test.use({ framework });

    test("the documented feed shows fresh items, delivers impressions, and leaves seen items out after a refresh", async ({
      reader,
    }) => {
      await reader.open("/example");
      await expect(reader.items).toHaveText(idsOfPages(0));
      await expect.poll(() => reader.delivered, { timeout: 20_000 }).toContain("item-0");
      await reader.press("More");
      await expect(reader.items).toHaveText(idsOfPages(0, 1).filter((id) => id !== KNOWN));
      const seen = reader.delivered;
      await reader.press("Refresh");
      await expect(reader.items.first()).not.toHaveText("item-0");
      expect(await reader.everShown()).not.toContain(KNOWN);
      expect((await reader.ids()).filter((id) => seen.includes(id))).toEqual([]);
      expect(reader.complaints).toEqual([]);
    });
  });
}

for (const framework of ["vue", "svelte"] as const) {
  test.describe(framework, () => {
    test.use({ framework });

    test("the documented pager's list has each item once, and on the next visit no seen one", async ({ reader }) => {
      await reader.open("/pager");
      await expect(reader.items).toHaveText(["old-0", "old-1", "old-2"]);
      await reader.press("More");
      const all = ["old-0", "old-1", "old-2", "old-3"];
      await expect(reader.items).toHaveText(all);
      await reader.haveSeen(["old-0", "old-1"]);
      await expect(reader.items).toHaveText(all);
      await reader.page.reload();
      await expect(reader.items).toHaveText(["old-2"]);
      expect(reader.complaints).toEqual([]);
    });
  });
}

test.describe("the documented feed with TanStack Query", () => {
  test("loses no item of a failed request, and shows the same items when its window has the focus again", async ({
    reader,
  }) => {
    const { page } = reader;
    // Like a real server, it leaves out reported items.
    await page.route("**/api/feed?page=*", async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { items: { id: string }[] };
      const items = body.items.filter(({ id }) => !reader.delivered.includes(id));
      await route.fulfill({ response, json: { ...body, items } });
    });
    await page.route("**/api/feed?page=1", (route) => route.abort(), { times: 1 });
    await reader.open("/query");
    await expect(reader.items).toHaveText(idsOfPages(0));
    await expect.poll(() => reader.delivered, { timeout: 20_000 }).toContain("item-0");
    await reader.press("More");
    const shown = idsOfPages(0, 1).filter((id) => id !== KNOWN);
    await expect(reader.items).toHaveText(shown);
    const requested: string[] = [];
    page.on("request", (request) => requested.push(new URL(request.url()).pathname));
    await page.evaluate(async () => {
      window.dispatchEvent(new Event("visibilitychange"));
      await fetch("/after-the-focus");
    });
    expect(requested).toContain("/after-the-focus");
    expect(requested).not.toContain("/api/feed");
    await expect(reader.items).toHaveText(shown);
    await reader.press("Refresh");
    await expect(reader.items.first()).not.toHaveText("item-0");
    expect(await reader.everShown()).not.toContain(KNOWN);
  });
});

test("the documented pill counts new fresh items, and prepends them when it is pressed", async ({ reader }) => {
  await reader.open("/pill");
  const old = ["old-0", "old-1", "old-2"];
  await expect(reader.items).toHaveText(old);
  await reader.haveSeen(["old-0"]);
  await reader.press("Arrive");
  await expect(reader.page.getByRole("button", { name: "2 new posts" })).toBeVisible();
  await expect(reader.items).toHaveText(old);
  await reader.press("2 new posts");
  await expect(reader.items).toHaveText(["new-1", "new-0", ...old]);
  await expect(reader.page.getByRole("button", { name: "new posts" })).toHaveCount(0);
  expect(reader.complaints).toEqual([]);
});

test("each of two orders leaves out items seen in the other, and is unchanged when it is selected again", async ({
  reader,
}) => {
  await reader.open("/order");
  await expect(reader.items).toHaveText(idsOfPages(0));
  await reader.haveSeen(["item-0", "item-1"]);
  await reader.press("Sort");
  const seen = await reader.seen(idsOfPages(0));
  const unseen = idsOfPages(0).filter((id) => !seen.includes(id));
  await expect(reader.items).toHaveText(unseen.reverse());
  await reader.press("Sort");
  await expect(reader.items).toHaveText(idsOfPages(0));
  expect(reader.complaints).toEqual([]);
});
