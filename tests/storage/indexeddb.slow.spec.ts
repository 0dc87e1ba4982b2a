/**
 * IndexedDB that does not respond, fails, or is lost during a visit: the feed opens, and recorded ids are stopped on the
 * next visit.
 */
import type { BrowserContext, Page } from "@playwright/test";
import {
  codes,
  expect,
  flush,
  fresh,
  idsOf,
  openGuard,
  record,
  stashesOn,
  stats,
  test,
  visit,
} from "../support/pages.js";
import type { Site } from "../support/site.js";

/** Longer than `open` may wait for the storage. */
const OPEN_MS = 3_000;
/** After this time, also on a busy machine, localStorage has the changes whose writes are not complete. */
const LOCAL_MS = 8_000;
/** A visible page has loaded again after this. */
const LOAD_MS = 20_000;

declare global {
  interface Window {
    /** Whether the page's IndexedDB is faulty. */
    isFaulty: boolean;
    /** Ends a transaction that a tab holds open. */
    letGo: () => void;
  }
}

/** From the next document on no request to open a database gets a response. */
const neverOpens = (page: Page) =>
  page.addInitScript(() => {
    IDBFactory.prototype.open = () => ({}) as IDBOpenDBRequest;
  });

/** From the next document on no request to open a database gets a response until `isFaulty` is false. */
const opensLate = (page: Page) =>
  page.addInitScript(() => {
    window.isFaulty = true;
    const open = Reflect.get<IDBFactory, "open">(IDBFactory.prototype, "open");
    IDBFactory.prototype.open = function (...given) {
      const request = open.apply(this, given);
      const success = Object.getOwnPropertyDescriptor(IDBRequest.prototype, "onsuccess");
      Object.defineProperty(request, "onsuccess", {
        set: (listener: (event: Event) => void) => {
          success?.set?.call(request, (event: Event) => {
            const timer = setInterval(() => {
              if (window.isFaulty) return;
              clearInterval(timer);
              listener.call(request, event);
            }, 20);
          });
        },
      });
      return request;
    };
  });

/** A visit, and the duration of its `open`. */
async function timedVisit(page: Page, site: Site): Promise<number> {
  await page.goto(site.origin);
  const before = Date.now();
  await openGuard(page);
  return Date.now() - before;
}

/** A page that locks the object store, until it is closed or releases it. */
async function holdTransaction(context: BrowserContext, site: Site): Promise<Page> {
  const page = await context.newPage();
  await page.goto(site.origin);
  await page.evaluate(async () => {
    const opening = indexedDB.open("seenguard");
    await new Promise((resolve) => (opening.onsuccess = resolve));
    const store = opening.result.transaction("entries", "readwrite").objectStore("entries");
    let isHeld = true;
    window.letGo = () => (isHeld = false);
    await new Promise<void>((resolve) => {
      const goOn = () => {
        resolve();
        if (isHeld) store.get("nothing").onsuccess = goOn;
        else opening.result.close();
      };
      store.get("nothing").onsuccess = goOn;
    });
  });
  return page;
}

test.describe("a request to open IndexedDB without a response", () => {
  test("i5: blocks no feed, and impressions are in localStorage and stopped on the next visits", async ({
    context,
    site,
  }) => {
    const before = await visit(await context.newPage(), site);
    await record(before, ["earlier"]);
    await flush(before);
    await before.close();

    const page = await context.newPage();
    await neverOpens(page);
    expect(await timedVisit(page, site)).toBeLessThan(OPEN_MS);
    await record(page, ["a"]);
    await expect.poll(() => stashesOn(page), { timeout: LOCAL_MS }).toHaveLength(1);
    // Another guard of the same document does not wait for that request forever either.
    const another = await page.evaluate(async () => {
      const began = performance.now();
      const guard = await Seenguard.SeenGuard.open({ namespace: "another" });
      guard.record("b");
      return performance.now() - began;
    });
    expect(another).toBeLessThan(OPEN_MS);
    await expect.poll(() => stashesOn(page), { timeout: LOCAL_MS }).toHaveLength(2);

    expect(await timedVisit(page, site)).toBeLessThan(OPEN_MS);
    expect(await fresh(page, ["a", "new"])).toEqual(["new"]);
    await page.close();
    const next = await visit(await context.newPage(), site);
    expect(await fresh(next, ["earlier", "a", "new"])).toEqual(["new"]);
    expect(await next.evaluate(() => window.guard.pending())).toEqual(["earlier", "a"]);
  });

  test("i5: that succeeds late is used, with its data", async ({ context, site }) => {
    const before = await visit(await context.newPage(), site);
    await record(before, ["earlier"]);
    await flush(before);
    const page = await context.newPage();
    await opensLate(page);
    expect(await timedVisit(page, site)).toBeLessThan(OPEN_MS);
    await record(page, ["now"]);
    await page.evaluate(() => (window.isFaulty = false));
    await expect.poll(() => fresh(page, ["earlier", "now", "new"])).toEqual(["new"]);
    await expect.poll(() => fresh(before, ["now", "new"])).toEqual(["new"]);
    await expect.poll(() => stashesOn(page)).toEqual([]);
    expect((await stats(page)).storage).toBe("indexeddb");
  });

  test("i5: as when an app's connection blocks the guard's, blocks no feed either", async ({ context, site }) => {
    const blocking = await context.newPage();
    await blocking.goto(site.origin);
    await blocking.evaluate(async () => {
      // A connection to the same database that ignores `versionchange`.
      const opening = indexedDB.open("seenguard", 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("the app's own");
      await new Promise((resolve) => (opening.onsuccess = resolve));
    });
    const page = await context.newPage();
    expect(await timedVisit(page, site)).toBeLessThan(OPEN_MS);
    await record(page, ["a"]);
    await expect.poll(() => stashesOn(page), { timeout: LOCAL_MS }).toHaveLength(1);
    await blocking.close();
    await expect.poll(async () => (await stats(page)).storage).toBe("indexeddb");
    await expect.poll(() => stashesOn(page)).toEqual([]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "new"])).toEqual(["new"]);
  });
});

test("a tab that locks the database blocks no feed, and others get its impressions by localStorage", async ({
  context,
  site,
}) => {
  const [one, two] = [await context.newPage(), await context.newPage()];
  for (const page of [one, two]) await visit(page, site);
  const holding = await holdTransaction(context, site);
  await record(one, ["a"]);
  await expect.poll(() => fresh(two, ["a", "new"]), { timeout: LOAD_MS }).toEqual(["new"]);
  const three = await context.newPage();
  expect(await timedVisit(three, site)).toBeLessThan(OPEN_MS);
  expect(await fresh(three, ["a", "new"])).toEqual(["new"]);
  await holding.evaluate(() => {
    window.letGo();
  });
  await expect.poll(() => stashesOn(one)).toEqual([]);
  await one.reload();
  await openGuard(one);
  expect(await fresh(one, ["a", "new"])).toEqual(["new"]);
});

test("i6: a tab whose writes fail still exchanges impressions with other tabs", async ({ context, site }) => {
  const [failing, other] = [await context.newPage(), await context.newPage()];
  for (const page of [failing, other]) await visit(page, site);
  await failing.evaluate(() => {
    IDBObjectStore.prototype.put = () => {
      throw new DOMException("refused", "UnknownError");
    };
  });
  // So that its retry delay grows.
  for (const id of idsOf("of the failing", 4)) {
    await record(failing, [id]);
    await failing.waitForTimeout(1_100);
  }
  await expect.poll(() => fresh(other, idsOf("of the failing", 4)), { timeout: LOAD_MS }).toEqual([]);
  await record(other, ["of the other"]);
  await expect.poll(() => fresh(failing, ["of the other", "new"]), { timeout: LOCAL_MS }).toEqual(["new"]);
  expect(await codes(failing)).toEqual(["storage"]);
  expect((await stats(failing)).storage).toBe("unavailable");
});

test("without `commit`, as in older browsers, everything is written, too", async ({ context, page, site }) => {
  await page.addInitScript(() => {
    Reflect.deleteProperty(IDBTransaction.prototype, "commit");
  });
  await visit(page, site);
  for (const id of idsOf("id", 20)) {
    await record(page, [id]);
    await flush(page);
  }
  await page.evaluate(() => {
    window.guard.record("as it goes");
  });
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, [...idsOf("id", 20), "as it goes", "new"])).toEqual(["new"]);
  await page.close();
  const next = await visit(await context.newPage(), site);
  expect(await fresh(next, [...idsOf("id", 20), "as it goes", "new"])).toEqual(["new"]);
});
