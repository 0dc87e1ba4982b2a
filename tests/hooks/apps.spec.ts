/** The same app in each framework: the promises of all adapters. */
import { frameworks } from "./build.js";
import { expect, idsOfPages, KNOWN, test } from "./pages.js";

for (const framework of frameworks) {
  test.describe(framework, () => {
    test.use({ framework });

    test("an item that was in view is not shown again, not even for a moment", async ({ reader }) => {
      await reader.open();
      await expect(reader.items).toHaveText(idsOfPages(0));
      await reader.haveSeen(["item-0", "item-1"]);
      const seen = await reader.seen(idsOfPages(0));
      await reader.page.evaluate(() => window.adapterApp.guard?.flush());
      await reader.page.evaluate(() => sessionStorage.clear());
      await reader.open("/data");
      await expect(reader.items).toHaveText(idsOfPages(0).filter((id) => !seen.includes(id)));
      expect(await reader.everShown()).toEqual(await reader.ids());
      expect(reader.complaints).toEqual([]);
    });

    test("a shown item stays after it was seen, until a refresh", async ({ reader }) => {
      await reader.open();
      await expect(reader.items).toHaveText(idsOfPages(0));
      await reader.haveSeen(["item-0", "item-1"]);
      await reader.press("More");
      await expect(reader.items).toHaveText(idsOfPages(0, 1));
      const seen = await reader.seen(idsOfPages(0, 1));
      await reader.press("Refresh");
      await expect(reader.items.first()).not.toHaveText("item-0");
      const shown = await reader.ids();
      expect(shown.filter((id) => seen.includes(id))).toEqual([]);
      expect(reader.complaints).toEqual([]);
    });

    test("no rendering pairs one person's guard with another's name", async ({ reader }) => {
      await reader.open();
      await reader.haveSeen(["item-0"]);
      await reader.page.evaluate(() => window.adapterApp.seed());
      for (const user of ["grace", "ada", "grace"]) {
        await reader.press(user);
        await expect(reader.page.locator("h1")).toHaveText(user);
        await expect(reader.items.last()).toHaveText("item-9");
        if (user === "grace") await expect(reader.items.first()).toHaveText("item-0");
      }
      const renders = await reader.page.evaluate(() => window.adapterApp.renders);
      expect(renders.filter(({ user, knows }) => knows.some((each) => each !== user))).toEqual([]);
      expect(new Set(renders.flatMap(({ knows }) => knows))).toEqual(new Set(["ada", "grace"]));
      expect(reader.complaints).toEqual([]);
    });

    test("server-rendered items stay and hydrate; later items are filtered", async ({ reader }) => {
      await reader.open();
      await expect(reader.items).toHaveText(idsOfPages(0));
      await reader.page.evaluate(async () => {
        window.adapterApp.guard?.record(["item-0", "item-12"]);
        await window.adapterApp.guard?.flush();
        sessionStorage.clear();
      });
      await reader.open("/ssr");
      await reader.haveSeen(["item-1"]);
      expect(await reader.ids()).toEqual(idsOfPages(0));
      await reader.press("More");
      await expect(reader.items).toHaveText(idsOfPages(0, 1).filter((id) => id !== "item-12"));
      expect(await reader.everShown()).not.toContain("item-12");
      expect(reader.complaints).toEqual([]);
    });

    test("the guard stays open after the last component was unmounted", async ({ reader }) => {
      await reader.open();
      await expect(reader.items).toHaveText(idsOfPages(0));
      const outcome = () =>
        reader.page.evaluate(() => {
          const result = window.adapterApp.guard?.apply({ shards: [] });
          return result?.applied ? "applied" : result?.reason;
        });
      expect(await outcome()).toBe("applied");
      await reader.page.evaluate(() => window.adapterApp.unmount());
      await expect(reader.items).toHaveCount(0);
      await reader.page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
      expect(await outcome()).toBe("applied");
      expect(reader.complaints).toEqual([]);
    });

    test("a list that loads its own pages fetches each once, to the end, and records items that are rendered again", async ({
      reader,
    }) => {
      const requested: string[] = [];
      reader.page.on("request", (request) => {
        if (new URL(request.url()).pathname === "/api/feed") requested.push(new URL(request.url()).search);
      });
      await reader.open("/pages");
      await expect(reader.items).toHaveText(idsOfPages(0));
      await expect(reader.page.locator("p")).toHaveText("There is more");
      await reader.haveSeen(["item-0", "item-1"]);
      await reader.press("More");
      await expect(reader.items).toHaveText(idsOfPages(0, 1, 2).filter((id) => id !== KNOWN));
      await expect(reader.page.locator("p")).toHaveText("The end");
      expect(requested).toEqual(["?page=0", "?page=1", "?page=2"]);
      const seen = await reader.seen(idsOfPages(0));
      await reader.press("Refresh");
      await expect(reader.items.first()).not.toHaveText("item-0");
      expect((await reader.ids()).filter((id) => seen.includes(id))).toEqual([]);
      expect(reader.complaints).toEqual([]);
    });
  });
}

for (const framework of ["vue", "svelte"] as const) {
  test.describe(framework, () => {
    test.use({ framework });

    test("an item below a root is recorded, and again after its screen was left for some seconds", async ({
      reader,
    }) => {
      await reader.page.clock.install();
      await reader.open("/pager?root");
      await reader.haveSeen(["in-root"]);
      await reader.page.evaluate(() => window.adapterApp.guard?.unsee("in-root"));
      await reader.press("Leave");
      await expect(reader.items).toHaveCount(0);
      await reader.page.clock.fastForward(9_000);
      await reader.press("Return");
      await reader.haveSeen(["in-root"]);
      expect(reader.complaints).toEqual([]);
    });
  });
}

test.describe("vue", () => {
  test.use({ framework: "vue" });

  test("items that <KeepAlive> caches are not reported as gone, and are recorded when they are shown again", async ({
    reader,
  }) => {
    await reader.page.clock.install();
    await reader.open("/pager");
    await reader.haveSeen(["old-0"]);
    await reader.press("Leave");
    await expect(reader.items).toHaveCount(0);
    await reader.page.clock.fastForward(60_000);
    await reader.press("Return");
    await reader.items.last().scrollIntoViewIfNeeded();
    await reader.haveSeen(["old-2"]);
    expect(reader.complaints).toEqual([]);
  });
});
