/** A page that hides or goes: what it has not written yet reaches its next visit and the other tabs, and nothing piles up. */
import type { Page } from "@playwright/test";
import { ShardChain } from "seenguard/server";
import { apply, expect, flush, fresh, idsOf, NAMESPACE, openGuard, record, test, visit } from "./pages.js";

/** From now on IndexedDB refuses every write. */
const refuseWrites = (page: Page) =>
  page.evaluate(() => {
    IDBObjectStore.prototype.put = () => {
      throw new DOMException("refused", "UnknownError");
    };
  });

const hide = (page: Page) => page.evaluate(() => dispatchEvent(new Event("pagehide")));

/** What the pages of this origin have left in localStorage. */
const stashes = (page: Page) =>
  page.evaluate(() => Object.entries<string>(localStorage).filter(([key]) => key.startsWith("seenguard-stash/")));

test("while IndexedDB refuses writes it leaves one stash, however often it hides, and all of it is taken over", async ({
  page,
  site,
}) => {
  await visit(page, site);
  await refuseWrites(page);
  const ids = idsOf("seen", 4_000);
  for (let start = 0; start < ids.length; start += 80) {
    await record(page, ids.slice(start, start + 80));
    await hide(page);
  }
  const left = await stashes(page);
  expect(left).toHaveLength(1);
  expect(left[0]?.[1].length).toBeLessThanOrEqual(100_000);
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, [...ids, "new"])).toEqual(["new"]);
  await flush(page);
  await expect.poll(() => stashes(page)).toEqual([]);
});

test("its stash is gone when it is cleared, although IndexedDB fails", async ({ page, site }) => {
  await visit(page, site);
  await refuseWrites(page);
  await record(page, ["a"]);
  await hide(page);
  expect(await stashes(page)).toHaveLength(1);
  await page.evaluate(async (namespace) => {
    IDBDatabase.prototype.transaction = () => {
      throw new DOMException("broken", "UnknownError");
    };
    await Seenguard.SeenGuard.clear(namespace).catch(() => {});
  }, NAMESPACE);
  expect(await stashes(page)).toEqual([]);
});

test("a write that is under way as it hides is made once, and stashed once", async ({ page, site }) => {
  await visit(page, site);
  const counted = await page.evaluate(async () => {
    const [puts, stashed]: [IDBValidKey[], string[]] = [[], []];
    const put = Reflect.get(IDBObjectStore.prototype, "put");
    const isUnderWay = new Promise<void>((resolve) => {
      IDBObjectStore.prototype.put = function (value, key) {
        if (typeof key === "string" && key.includes("/s/")) {
          puts.push(key);
          resolve();
        }
        return put.call(this, value, key);
      };
    });
    const setItem = Storage.prototype.setItem.bind(localStorage);
    Storage.prototype.setItem = (key, value) => {
      if (key.startsWith("seenguard-stash/")) stashed.push(key);
      setItem(key, value);
    };
    window.guard.record("a");
    await isUnderWay;
    dispatchEvent(new Event("pagehide"));
    await window.guard.flush();
    return { puts: puts.length, stashed: stashed.length };
  });
  expect(counted).toEqual({ puts: 1, stashed: 1 });
});

test("a stash that its page writes anew while another takes it over is not lost", async ({ context, site }) => {
  const going = await visit(await context.newPage(), site);
  await refuseWrites(going);
  const left: [key: string, text: string][] = [];
  for (const id of ["first", "second"]) {
    await record(going, [id]);
    await hide(going);
    left.push(...(await stashes(going)));
  }
  await going.goto("about:blank");
  const next = await context.newPage();
  await next.goto(site.origin);
  await next.evaluate(([[key, first] = ["", ""], [, second] = ["", ""]]) => {
    localStorage.setItem(key, first);
    const put = Reflect.get(IDBObjectStore.prototype, "put");
    IDBObjectStore.prototype.put = function (value, name) {
      if (value !== second) localStorage.setItem(key, second);
      IDBObjectStore.prototype.put = put;
      return put.call(this, value, name);
    };
  }, left);
  await openGuard(next);
  await flush(next);
  await next.reload();
  await openGuard(next);
  expect(await fresh(next, ["first", "second", "new"])).toEqual(["new"]);
  await expect.poll(() => stashes(next)).toEqual([]);
});

for (const storage of ["indexeddb", "local"] as const) {
  test(`what a snapshot has just covered is not pending on the next visit, with ${storage}`, async ({ page, site }) => {
    await visit(page, site, { storage });
    await record(page, ["covered", "pending"]);
    const chain = await ShardChain.create();
    for (const id of ["else", "covered"]) {
      chain.record([id]);
      await apply(page, chain.snapshot());
    }
    chain.free();
    await page.reload();
    await openGuard(page, { storage });
    expect(await page.evaluate(() => window.guard.pending())).toEqual(["pending"]);
  });
}

test("what it records as it goes the other tabs hear of", async ({ context, site }) => {
  const [going, staying] = [await context.newPage(), await context.newPage()];
  for (const page of [going, staying]) await visit(page, site);
  await going.evaluate(() => {
    addEventListener("pagehide", () => window.guard.record("last"), { capture: true });
  });
  await going.goto("about:blank");
  await expect.poll(() => fresh(staying, ["last", "new"])).toEqual(["new"]);
});

test("what it records after another tab began to clear is kept, though it closes at once", async ({
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

test("a namespace that was not used for its window leaves no key behind, its user's name neither", async ({
  page,
  site,
}) => {
  const idle = "home:somebody";
  await visit(page, site, { namespace: idle });
  await record(page, ["a"]);
  await flush(page);
  await page.evaluate(async (namespace) => {
    await window.guard.close();
    localStorage.setItem(`seenguard-signal/${namespace}`, "0");
    const database = await new Promise<IDBDatabase>((resolve) => {
      const opening = indexedDB.open("seenguard");
      opening.onsuccess = () => resolve(opening.result);
    });
    // Used last on day 1 of 1970, with a window of a day, and found idle then; the clock goes on since an hour ago.
    const written = database.transaction("segments", "readwrite");
    written.objectStore("segments").put("1/1/1", `seenguard/${namespace}/d`);
    written.objectStore("segments").put((Date.now() - 3_600_000).toString(36), "seenguard/opened");
    await new Promise((resolve) => (written.oncomplete = resolve));
    database.close();
  }, idle);
  await page.reload();
  await openGuard(page);
  const namesOf = () =>
    page.evaluate(async () => {
      const database = await new Promise<IDBDatabase>((resolve) => {
        const opening = indexedDB.open("seenguard");
        opening.onsuccess = () => resolve(opening.result);
      });
      const keys = database.transaction("segments").objectStore("segments").getAllKeys();
      await new Promise((resolve) => (keys.onsuccess = resolve));
      database.close();
      return [...keys.result, ...Object.keys(localStorage)].filter(
        (key) => typeof key === "string" && key.includes("somebody"),
      );
    });
  await expect.poll(namesOf).toEqual([]);
});

test("the database can be deleted beside an open guard and after it closed, and is there again when needed", async ({
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
