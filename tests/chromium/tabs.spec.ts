/** Several tabs of one reader. */
import type { Page } from "@playwright/test";
import { codes, expect, fresh, NAMESPACE, openGuard, record, test } from "./support.js";

const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(index)}`);

async function expectSoon(page: Page, candidates: string[], left: string[]): Promise<void> {
  await expect.poll(() => fresh(page, candidates)).toEqual(left);
}

/** Records what a failing disk keeps only half of. */
async function recordDamaged(page: Page, recorded: string): Promise<void> {
  await page.evaluate(() => {
    const setItem = Reflect.get<Storage, "setItem">(Storage.prototype, "setItem");
    Storage.prototype.setItem = function (key, value) {
      const isRow = key.includes("/r/");
      setItem.call(this, key, isRow ? value.slice(0, value.length / 2) : value);
      if (isRow) Storage.prototype.setItem = setItem;
    };
  });
  await record(page, [recorded]);
}

for (const storage of ["indexeddb", "local"] as const) {
  test.describe(`two tabs with the storage "${storage}"`, () => {
    test("see each other's impressions without a reload", async ({ reader }) => {
      const [first, second] = [await reader.openGuardedPage({ storage }), await reader.openGuardedPage({ storage })];
      await record(first, ["a"]);
      await expectSoon(second, ["a", "b"], ["b"]);
      await record(second, ["b"]);
      await expectSoon(first, ["a", "b", "c"], ["c"]);
      const third = await reader.openGuardedPage({ storage });
      expect(await fresh(third, ["a", "b", "c"])).toEqual(["c"]);
      for (let round = 0; round < 40; round++) await record(first, [`more-${String(round)}`]);
      await expectSoon(second, [...ids("more", 40), "d"], ["d"]);
      await expectSoon(third, [...ids("more", 40), "d"], ["d"]);
      for (const page of [first, second, third]) expect(await codes(page)).toEqual([]);
    });

    test("that record at the same time lose nothing of each other's", async ({ reader }) => {
      const pages = [await reader.openGuardedPage({ storage }), await reader.openGuardedPage({ storage })];
      await Promise.all(
        pages.map((page, tab) =>
          page.evaluate(
            async (prefix) => {
              for (let index = 0; index < 100; index++) {
                window.guard.record(`${prefix}-${String(index)}`);
                if (index % 3 === 0) await window.guard.flush();
              }
              await window.guard.flush();
            },
            `tab-${String(tab)}`,
          ),
        ),
      );
      const all = [...ids("tab-0", 100), ...ids("tab-1", 100)];
      for (const page of pages) await expectSoon(page, [...all, "new"], ["new"]);
      for (const page of pages) await page.close();
      expect(await fresh(await reader.openGuardedPage({ storage }), [...all, "new"])).toEqual(["new"]);
    });

    test("all delete their impressions when one of them clears, and keep later ones", async ({ reader }) => {
      const [first, second] = [await reader.openGuardedPage({ storage }), await reader.openGuardedPage({ storage })];
      await record(first, ["a"]);
      await record(second, ["b"]);
      await expectSoon(second, ["a", "b"], []);
      await expectSoon(first, ["a", "b"], []);
      await first.evaluate(([namespace, place]) => window.Seenguard.SeenGuard.clear(namespace, place), [
        NAMESPACE,
        storage,
      ] as const);
      expect(await fresh(first, ["a", "b"])).toEqual(["a", "b"]);
      await expectSoon(second, ["a", "b"], ["a", "b"]);
      await record(second, ["later"]);
      await expectSoon(first, ["a", "b", "later"], ["a", "b"]);
      await first.close();
      await second.close();
      expect(await fresh(await reader.openGuardedPage({ storage }), ["a", "b", "later"])).toEqual(["a", "b"]);
    });
  });
}

test("a damaged row is reported once, and other rows are still read", async ({ reader }) => {
  const storage = "local";
  const [writer, tab] = [await reader.openGuardedPage({ storage }), await reader.openGuardedPage({ storage })];
  await record(writer, ["a"]);
  await recordDamaged(writer, "lost");
  await record(writer, ["b"]);
  await expectSoon(tab, ["a", "lost", "b"], ["lost"]);
  expect(await codes(tab)).toEqual(["storage"]);
  const next = await reader.openGuardedPage({ storage });
  expect(await fresh(next, ["a", "b", "new"])).toEqual(["new"]);
  // The next pass deletes it: it is told once, not at every visit.
  await next.waitForTimeout(2_500);
  await next.evaluate(() => window.guard.flush());
  expect(await codes(await reader.openGuardedPage({ storage }))).toEqual([]);
});

test("a tab that is reopened many times keeps its storage small", async ({ reader }) => {
  const page = await reader.openGuardedPage();
  for (let visit = 0; visit < 15; visit++) {
    await record(page, ids(`visit-${String(visit)}`, 5));
    await page.reload();
    await openGuard(page);
  }
  const keys = await page.evaluate(async () => {
    const request = indexedDB.open("seenguard");
    await new Promise((resolve) => (request.onsuccess = resolve));
    const counting = request.result.transaction("rows").objectStore("rows").count();
    await new Promise((resolve) => (counting.onsuccess = resolve));
    request.result.close();
    return counting.result;
  });
  expect(keys).toBeLessThanOrEqual(32);
  expect(keys).toBeGreaterThan(0);
  const all = Array.from({ length: 15 }, (_, visit) => ids(`visit-${String(visit)}`, 5)).flat();
  expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
});
