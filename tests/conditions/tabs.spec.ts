/** Several tabs of one namespace: they see each other's impressions, lose none of them, and forget together. */
import {
  codes,
  expect,
  flush,
  fresh,
  idsOf,
  keysInIndexedDb,
  NAMESPACE,
  openGuard,
  record,
  stats,
  test,
  visit,
} from "./pages.js";

for (const storage of ["indexeddb", "local"] as const) {
  test.describe(`tabs that keep their impressions in ${storage}`, () => {
    test("see each other's without a reload, and one that opens later sees all", async ({ context, site }) => {
      const [one, two] = [await context.newPage(), await context.newPage()];
      for (const page of [one, two]) await visit(page, site, { storage });
      expect((await stats(one)).storage).toBe(storage);
      await record(one, ["of one"]);
      await expect.poll(() => fresh(two, ["of one", "new"])).toEqual(["new"]);
      await record(two, ["of two"]);
      await expect.poll(() => fresh(one, ["of two", "new"])).toEqual(["new"]);

      const three = await visit(await context.newPage(), site, { storage });
      expect(await fresh(three, ["of one", "of two", "new"])).toEqual(["new"]);
      await record(three, ["of three"]);
      for (const page of [one, two]) await expect.poll(() => fresh(page, ["of three", "new"])).toEqual(["new"]);
      await record(one, ["after three took over"]);
      for (const page of [two, three]) {
        await expect.poll(() => fresh(page, ["after three took over", "new"])).toEqual(["new"]);
      }
      for (const page of [one, two, three]) expect(await codes(page)).toEqual([]);
    });

    for (const [first, second] of [
      [0, 1],
      [1, 0],
    ] as const) {
      test(`record 500 ids each at once and lose none, tab ${String(first)} closing first`, async ({
        context,
        site,
      }) => {
        const pages = [await context.newPage(), await context.newPage()] as const;
        for (const page of pages) await visit(page, site, { storage });
        await Promise.all(
          pages.map((page, index) =>
            page.evaluate(
              async (prefix) => {
                for (let number = 0; number < 500; number++) {
                  window.guard.record(`${prefix}-${String(number)}`);
                  // One task each, so that the tabs write in turns.
                  if (number % 5 === 0) await new Promise((resolve) => setTimeout(resolve));
                }
              },
              `tab-${String(index)}`,
            ),
          ),
        );
        await flush(pages[first]);
        await pages[first].close();
        await flush(pages[second]);
        const all = [...idsOf("tab-0", 500), ...idsOf("tab-1", 500)];
        await expect.poll(() => fresh(pages[second], all)).toEqual([]);
        await pages[second].close();
        const later = await visit(await context.newPage(), site, { storage });
        expect(await fresh(later, [...all, "new"])).toEqual(["new"]);
        expect((await stats(later)).pending).toBe(1000);
        expect(await codes(later)).toEqual([]);
      });
    }

    test("forget together when one clears, and no late write brings anything back", async ({ context, site }) => {
      const [one, two, three] = [await context.newPage(), await context.newPage(), await context.newPage()];
      for (const page of [one, two, three]) await visit(page, site, { storage });
      await record(one, idsOf("early", 50));
      for (const page of [two, three]) await expect.poll(() => fresh(page, idsOf("early", 50))).toEqual([]);

      // Tab two has recorded, and is too busy to write it until tab one has cleared.
      const hasRecorded = two.waitForEvent("console", (message) => message.text() === "recorded");
      const busy = two.evaluate(() => {
        window.guard.record("late");
        console.info("recorded");
        const until = performance.now() + 1500;
        while (performance.now() < until);
      });
      await hasRecorded;
      await one.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
      expect(await fresh(one, ["early-0", "late"])).toEqual(["early-0", "late"]);
      await busy;
      for (const page of [two, three]) {
        await expect.poll(() => fresh(page, ["early-0", "late"])).toEqual(["early-0", "late"]);
      }
      await record(three, ["afterwards"]);
      for (const page of [one, two]) await expect.poll(() => fresh(page, ["afterwards", "new"])).toEqual(["new"]);
      for (const page of [one, two, three]) await flush(page);
      for (const page of [one, two, three]) await page.close();
      const later = await visit(await context.newPage(), site, { storage });
      expect(await fresh(later, ["early-0", "late", "afterwards"])).toEqual(["early-0", "late"]);
    });
  });
}

test("a tab that has no guard clears for those that have", async ({ context, site }) => {
  const [guarded, other] = [await context.newPage(), await context.newPage()];
  await visit(guarded, site);
  await record(guarded, ["a"]);
  await flush(guarded);
  await other.goto(site.origin);
  await other.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
  await expect.poll(() => fresh(guarded, ["a"])).toEqual(["a"]);
  expect(await other.evaluate(() => Object.keys(localStorage))).toEqual([]);
});

test("tabs see each other though localStorage is full to the brim", async ({ context, site }) => {
  const [one, two] = [await context.newPage(), await context.newPage()];
  for (const page of [one, two]) await visit(page, site);
  await record(one, ["before"]);
  await expect.poll(() => fresh(two, ["before"])).toEqual([]);
  await one.evaluate(() => {
    for (let size = 1 << 22; size >= 1; size >>= 1) {
      try {
        for (let part = 0; ; part++) localStorage.setItem(`filling-${String(size)}-${String(part)}`, "x".repeat(size));
      } catch {
        // A smaller piece may still fit.
      }
    }
  });
  for (const id of idsOf("while full", 20)) {
    await record(one, [id]);
    await expect.poll(() => fresh(two, [id])).toEqual([]);
  }
});

test("over 1,000 visits the keys stay few and nothing recent is forgotten", async ({ page, site }) => {
  await page.goto(site.origin);
  const most = await page.evaluate(async (namespace) => {
    let most = 0;
    const database = await new Promise<IDBDatabase>((resolve) => {
      const opening = indexedDB.open("seenguard");
      opening.onupgradeneeded = () => opening.result.createObjectStore("segments");
      opening.onsuccess = () => {
        resolve(opening.result);
      };
    });
    const countKeys = () =>
      new Promise<number>((resolve) => {
        const counting = database.transaction("segments").objectStore("segments").count();
        counting.onsuccess = () => {
          resolve(counting.result);
        };
      });
    for (let visit = 0; visit < 1000; visit++) {
      const guard = await Seenguard.SeenGuard.open({ namespace });
      guard.record(`visit-${String(visit)}-first`);
      await guard.flush();
      guard.record(`visit-${String(visit)}-second`);
      most = Math.max(most, await countKeys());
      await guard.close();
    }
    most = Math.max(most, await countKeys());
    database.close();
    return most;
  }, NAMESPACE);
  await openGuard(page);
  const bytes = await page.evaluate(() => navigator.storage.estimate().then(({ usage }) => usage));
  console.log(`keys at most over 1,000 visits: ${String(most)}; bytes of the origin afterwards: ${String(bytes)}`);
  expect(most).toBeLessThanOrEqual(32);
  expect(
    await fresh(
      page,
      idsOf("visit", 1000).flatMap((visit) => [`${visit}-first`, `${visit}-second`]),
    ),
  ).toEqual([]);
});

test("many tabs that come and go leave few keys", async ({ context, site }) => {
  const keeper = await visit(await context.newPage(), site);
  let most = 0;
  for (let round = 0; round < 6; round++) {
    const tabs = await Promise.all([0, 1, 2].map(async () => visit(await context.newPage(), site)));
    await Promise.all(
      tabs.map(async (tab, index) => {
        for (let number = 0; number < 8; number++) {
          await record(tab, [`round-${String(round)}-tab-${String(index)}-${String(number)}`]);
          await flush(tab);
        }
      }),
    );
    await record(keeper, [`round-${String(round)}-keeper`]);
    most = Math.max(most, (await keysInIndexedDb(keeper)).length);
    for (const tab of tabs) await tab.close();
  }
  await flush(keeper);
  console.log(`keys at most with four tabs at a time: ${String(most)}`);
  await visit(await context.newPage(), site);
  expect((await keysInIndexedDb(keeper)).length).toBeLessThanOrEqual(32);
});
