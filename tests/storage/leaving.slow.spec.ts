/** A page that hides or goes: what it has not written yet reaches its next visit and the other tabs, and nothing piles up. */
import type { Page } from "@playwright/test";
import {
  expect,
  flush,
  fresh,
  idsOf,
  NAMESPACE,
  openGuard,
  record,
  rowsInLocalStorage,
  test,
  visit,
} from "../support/pages.js";

/** From now on IndexedDB refuses every write. */
const refuseWrites = (page: Page) =>
  page.evaluate(() => {
    IDBObjectStore.prototype.put = () => {
      throw new DOMException("refused", "UnknownError");
    };
  });

const hide = (page: Page) => page.evaluate(() => dispatchEvent(new Event("pagehide")));

/** How long the texts of the rows in localStorage are together. */
const charactersInLocalStorage = (page: Page) =>
  page.evaluate(() =>
    Object.entries<string>(localStorage)
      .filter(([key]) => key.startsWith("seenguard/"))
      .reduce((sum, [, text]) => sum + text.length, 0),
  );

test("i6: while IndexedDB refuses writes it leaves one row, however often it hides, and the next visit moves it", async ({
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
  expect(await rowsInLocalStorage(page)).toHaveLength(1);
  expect(await charactersInLocalStorage(page)).toBeLessThanOrEqual(50_000);
  expect(uncaught).toEqual([]);
  await page.reload();
  await openGuard(page);
  // A row has the latest thousand.
  expect(await fresh(page, [...ids.slice(-1_000), "new"])).toEqual(["new"]);
  await page.waitForTimeout(2_500);
  await flush(page);
  await expect.poll(() => rowsInLocalStorage(page)).toEqual([]);
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, [...ids.slice(-1_000), "new"])).toEqual(["new"]);
});

test("i6: its rows are gone when it is cleared, although IndexedDB fails", async ({ page, site }) => {
  await visit(page, site);
  await refuseWrites(page);
  await record(page, ["a"]);
  await hide(page);
  expect(await rowsInLocalStorage(page)).toHaveLength(1);
  await page.evaluate(async (namespace) => {
    IDBDatabase.prototype.transaction = () => {
      throw new DOMException("broken", "UnknownError");
    };
    await Seenguard.SeenGuard.clear(namespace).catch(() => {});
  }, NAMESPACE);
  expect(await rowsInLocalStorage(page)).toEqual([]);
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, ["a"])).toEqual(["a"]);
});

test("i6: a put that is under way as it hides goes on, and is made again blindly and in localStorage", async ({
  page,
  site,
}) => {
  await visit(page, site);
  const counted = await page.evaluate(async () => {
    const [puts, local]: [IDBValidKey[], string[]] = [[], []];
    const put = Reflect.get(IDBObjectStore.prototype, "put");
    const isUnderWay = new Promise<void>((resolve) => {
      IDBObjectStore.prototype.put = function (value, key) {
        if (typeof key === "string" && key.includes("/r/")) {
          puts.push(key);
          resolve();
        }
        return put.call(this, value, key);
      };
    });
    const setItem = Storage.prototype.setItem.bind(localStorage);
    Storage.prototype.setItem = (key, value) => {
      if (key.includes("/r/")) local.push(key);
      setItem(key, value);
    };
    window.guard.record("a");
    await isUnderWay;
    dispatchEvent(new Event("pagehide"));
    await window.guard.flush();
    return { puts: puts.length, local: local.length };
  });
  expect(counted).toEqual({ puts: 2, local: 1 });
  await expect.poll(() => rowsInLocalStorage(page)).toEqual([]);
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, ["a", "new"])).toEqual(["new"]);
  expect(await page.evaluate(() => window.guard.pending())).toEqual(["a"]);
});

test("what it puts as it hides is committed in that task, all of it", async ({ page, site }) => {
  await visit(page, site);
  await page.waitForTimeout(2_500);
  await flush(page);
  const begun = await page.evaluate(
    async (ids) => {
      const done: string[] = [];
      const put = Reflect.get(IDBObjectStore.prototype, "put");
      IDBObjectStore.prototype.put = function (...given) {
        done.push("put");
        return put.apply(this, given);
      };
      const commit = Reflect.get(IDBTransaction.prototype, "commit");
      IDBTransaction.prototype.commit = function () {
        done.push("commit");
        commit.call(this);
      };
      window.guard.record(ids);
      dispatchEvent(new Event("pagehide"));
      const atOnce = [...done];
      await window.guard.flush();
      return atOnce;
    },
    idsOf("id", 2_500),
  );
  expect(begun).toEqual(["put", "put", "put", "commit"]);
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, [...idsOf("id", 2_500), "new"])).toEqual(["new"]);
});

test("i6: other tabs learn of impressions that it records as it closes", async ({ context, site }) => {
  const [going, staying] = [await context.newPage(), await context.newPage()];
  for (const page of [going, staying]) await visit(page, site);
  await going.evaluate(() => {
    addEventListener("pagehide", () => window.guard.record("last"), { capture: true });
  });
  await going.goto("about:blank");
  await expect.poll(() => fresh(staying, ["last", "new"])).toEqual(["new"]);
});

test("i6: impressions recorded after another tab began to clear are kept, though it closes at once", async ({
  context,
  site,
}) => {
  for (const opensAfterwards of [false, true]) {
    const [clearing, other] = [await context.newPage(), await context.newPage()];
    await visit(clearing, site);
    await (opensAfterwards ? other.goto(site.origin) : visit(other, site));
    await record(clearing, ["early"]);
    await flush(clearing);
    const hasBegun = clearing.waitForEvent("console", (message) => message.text() === "clearing");
    const busy = clearing.evaluate((namespace) => {
      const cleared = Seenguard.SeenGuard.clear(namespace);
      console.info("clearing");
      const until = performance.now() + 1_500;
      while (performance.now() < until);
      return cleared;
    }, NAMESPACE);
    await hasBegun;
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (opensAfterwards) await openGuard(other);
    await record(other, ["kept"]);
    await flush(other);
    await other.close();
    await busy;
    await clearing.close();
    const later = await visit(await context.newPage(), site);
    expect(await fresh(later, ["early", "kept"])).toEqual(["early"]);
    await later.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
    await later.close();
  }
});

test("i7: a namespace that was not used for its window leaves no key behind, its user's name neither", async ({
  page,
  site,
}) => {
  const idle = "home:somebody";
  await visit(page, site, { namespace: idle });
  await record(page, ["a"]);
  await flush(page);
  await page.evaluate(async (namespace) => {
    await window.guard.close();
    const database = await new Promise<IDBDatabase>((resolve) => {
      const opening = indexedDB.open("seenguard");
      opening.onsuccess = () => resolve(opening.result);
    });
    // Used last on day 1 of 1970, with a window of a day.
    const prefix = `seenguard/${namespace}/00000000000/`;
    const written = database.transaction("rows", "readwrite");
    written.objectStore("rows").put("1,1,0,0,0,", `${prefix}m`);
    await new Promise((resolve) => (written.oncomplete = resolve));
    database.close();
    localStorage.setItem(`seenguard-signal/${namespace}`, "00000000000.abcdefgh");
    // What a visit without IndexedDB has left, in the place that is not in use now.
    localStorage.setItem(`${prefix}m`, "1,1,0,0,0,");
    localStorage.setItem(`${prefix}r/0123456789abc/1`, "AAAA");
  }, idle);
  await page.reload();
  await openGuard(page);
  const namesOf = () =>
    page.evaluate(async () => {
      const database = await new Promise<IDBDatabase>((resolve) => {
        const opening = indexedDB.open("seenguard");
        opening.onsuccess = () => resolve(opening.result);
      });
      const keys = database.transaction("rows").objectStore("rows").getAllKeys();
      await new Promise((resolve) => (keys.onsuccess = resolve));
      database.close();
      return [...keys.result, ...Object.keys(localStorage)].filter(
        (key) => typeof key === "string" && key.includes("somebody"),
      );
    });
  await expect.poll(namesOf).toEqual([]);
});

test("i6: the database can be deleted beside an open guard and after it closed, and is there again when needed", async ({
  context,
  site,
}) => {
  const [one, other] = [await context.newPage(), await context.newPage()];
  await visit(one, site);
  await record(one, ["before"]);
  await flush(one);
  await other.goto(site.origin);
  const deleted = () =>
    other.evaluate(
      () =>
        new Promise<string>((resolve) => {
          const deleting = indexedDB.deleteDatabase("seenguard");
          deleting.onsuccess = () => resolve("deleted");
          deleting.onblocked = () => resolve("blocked");
        }),
    );
  expect(await deleted()).toBe("deleted");
  await record(one, ["after"]);
  await flush(one);
  await one.reload();
  await openGuard(one);
  expect(await fresh(one, ["after"])).toEqual([]);
  await one.evaluate(() => window.guard.close());
  expect(await deleted()).toBe("deleted");
});

test("the database is closed with the last guard of a page", async ({ page, site }) => {
  await visit(page, site);
  const closed = await page.evaluate(async () => {
    let count = 0;
    const close = Reflect.get(IDBDatabase.prototype, "close");
    IDBDatabase.prototype.close = function () {
      count++;
      close.call(this);
    };
    const other = await Seenguard.SeenGuard.open({ namespace: "another" });
    const counts: number[] = [];
    for (const guard of [other, window.guard]) {
      await guard.close();
      await new Promise((resolve) => setTimeout(resolve));
      counts.push(count);
    }
    return counts;
  });
  expect(closed).toEqual([0, 1]);
});
