/** The examples of docs/react.md, docs/vue.md and docs/svelte.md do what these pages say. */
import { frameworks } from "./build.js";
import { expect, idsOfPages, KNOWN, test } from "./pages.js";

for (const framework of frameworks) {
  test.describe(framework, () => {
    test.use({ framework });

    test("the documented feed shows what is fresh, delivers what was seen, and leaves it out after a refresh", async ({
      reader,
    }) => {
      const { delivered } = reader.site;
      await reader.open("/example");
      await expect(reader.items).toHaveText(idsOfPages(0));
      await expect.poll(() => delivered, { timeout: 20_000 }).toContain("item-0");
      await reader.press("More");
      await expect(reader.items).toHaveText(idsOfPages(0, 1).filter((id) => id !== KNOWN));
      const seen = [...delivered];
      await reader.press("Refresh");
      await expect(reader.items.first()).not.toHaveText("item-0");
      expect(await reader.everShown()).not.toContain(KNOWN);
      expect((await reader.ids()).filter((id) => seen.includes(id))).toEqual([]);
      expect(reader.complaints).toEqual([]);
    });
  });
}

test.describe("the documented feed with TanStack Query", () => {
  test("loses nothing of a request that fails, and keeps what is on the screen when its window has the focus again", async ({
    reader,
  }) => {
    const { page } = reader;
    const { delivered } = reader.site;
    const before = delivered.length;
    // As servers do, it leaves out what it was told of.
    await page.route("**/api/feed?page=*", async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { items: { id: string }[] };
      const items = body.items.filter(({ id }) => !delivered.slice(before).includes(id));
      await route.fulfill({ response, json: { ...body, items } });
    });
    await page.route("**/api/feed?page=1", (route) => route.abort(), { times: 1 });
    await reader.open("/query");
    await expect(reader.items).toHaveText(idsOfPages(0));
    await expect.poll(() => delivered.slice(before), { timeout: 20_000 }).toContain("item-0");
    await reader.press("More");
    const shown = idsOfPages(0, 1).filter((id) => id !== KNOWN);
    await expect(reader.items).toHaveText(shown);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.evaluate(async () => {
      window.dispatchEvent(new Event("visibilitychange"));
      await fetch("/after-the-focus");
    });
    expect(asked).toContain("/after-the-focus");
    expect(asked).not.toContain("/api/feed");
    await expect(reader.items).toHaveText(shown);
    await reader.press("Refresh");
    await expect(reader.items.first()).not.toHaveText("item-0");
    expect(await reader.everShown()).not.toContain(KNOWN);
  });
});
