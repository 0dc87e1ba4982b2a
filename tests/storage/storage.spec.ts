/** What a browser keeps across visits, and what happens where it keeps nothing. */

import { codes, expect, fresh, NAMESPACE, openGuard, record, storageOf, test } from "../support/chromium.js";

for (const storage of [undefined, "indexeddb", "local"] as const) {
  test.describe(`with ${storage === undefined ? "the default storage" : `the storage "${storage}"`}`, () => {
    const options = storage === undefined ? {} : { storage };

    test("i1: recorded ids are still stopped after a reload, and still pending", async ({ reader }) => {
      const page = await reader.openGuardedPage(options);
      expect(await storageOf(page)).toBe(storage ?? "indexeddb");
      await record(page, ["a", "🦀\0", ""]);
      await page.reload();
      await openGuard(page, options);
      expect(await fresh(page, ["a", "🦀\0", "", "b"])).toEqual(["b"]);
      expect(await page.evaluate(() => window.guard.pending())).toEqual(["a", "🦀\0", ""]);
      expect(await codes(page)).toEqual([]);
    });

    test("ids recorded before the page was closed are stopped in the next one", async ({ reader }) => {
      const page = await reader.openGuardedPage(options);
      await page.evaluate(async () => {
        window.guard.record("a");
        await window.guard.close();
      });
      await page.close();
      expect(await fresh(await reader.openGuardedPage(options), ["a", "b"])).toEqual(["b"]);
    });

    test("clear deletes impressions, and later ones are kept", async ({ reader }) => {
      const page = await reader.openGuardedPage(options);
      await record(page, ["before"]);
      await page.evaluate(([namespace, place]) => window.Seenguard.SeenGuard.clear(namespace, place ?? undefined), [
        NAMESPACE,
        storage ?? null,
      ] as const);
      expect(await fresh(page, ["before"])).toEqual(["before"]);
      await record(page, ["after"]);
      await page.reload();
      await openGuard(page, options);
      expect(await fresh(page, ["before", "after"])).toEqual(["before"]);
    });
  });
}

test.describe("where IndexedDB is not to be had", () => {
  test("i5: localStorage takes its place, which is reported, and clear reaches it", async ({ reader }) => {
    await reader.context.addInitScript(() => {
      IDBFactory.prototype.open = () => {
        throw new DOMException("not here", "SecurityError");
      };
    });
    const page = await reader.openGuardedPage();
    expect(await storageOf(page)).toBe("local");
    expect(await codes(page)).toEqual(["storage"]);
    await record(page, ["a"]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
    await page.evaluate((namespace) => window.Seenguard.SeenGuard.clear(namespace), NAMESPACE);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a"])).toEqual(["a"]);
  });

  test("and localStorage neither, the guard works without", async ({ reader }) => {
    await reader.context.addInitScript(() => {
      Reflect.deleteProperty(window, "indexedDB");
      Reflect.deleteProperty(window, "localStorage");
    });
    const page = await reader.openGuardedPage();
    await record(page, ["a"]);
    expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
    expect(await storageOf(page)).toBe("unavailable");
  });
});
