/**
 * Storage that is full, denied, damaged, or taken away while the page is open: the feed goes on, and what can be kept
 * is kept.
 */
import type { Page } from "@playwright/test";
import { ShardChain } from "seenguard/server";
import { Profile } from "../support/browsers.js";
import {
  apply,
  codes,
  expect,
  flush,
  fresh,
  idsOf,
  openGuard,
  record,
  rowsInLocalStorage,
  stats,
  test,
  visit,
} from "../support/pages.js";
import { documentOf, type Site } from "../support/site.js";

declare global {
  interface Window {
    /** How often the page has opened a database. */
    openings: number;
  }
}

/** Gives the origin a megabyte, as long as the returned session lives. */
async function limitQuota(page: Page, site: Site): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Storage.overrideQuotaForOrigin", { origin: site.origin, quotaSize: 1_000_000 });
}

/** Lets the app fill a database of its own until nothing fits any more. */
async function fillIndexedDb(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const database = await new Promise<IDBDatabase>((resolve) => {
      const opening = indexedDB.open("the app's own");
      opening.onupgradeneeded = () => opening.result.createObjectStore("pictures", { autoIncrement: true });
      opening.onsuccess = () => {
        resolve(opening.result);
      };
    });
    const fits = (size: number) =>
      new Promise<boolean>((resolve) => {
        const transaction = database.transaction("pictures", "readwrite");
        transaction.oncomplete = () => {
          resolve(true);
        };
        transaction.onabort = () => {
          resolve(false);
        };
        // Random, as pictures are: what repeats itself would be compressed.
        transaction.objectStore("pictures").add(crypto.getRandomValues(new Uint8Array(size)));
      });
    // Chromium makes room while nobody asks: until nothing fits after a rest either.
    for (let hasFitted = true; hasFitted;) {
      hasFitted = false;
      for (let size = 1 << 16; size >= 512; size >>= 1) while (await fits(size)) hasFitted = true;
      if (hasFitted) await new Promise((resolve) => setTimeout(resolve, 500));
    }
    database.close();
  });
}

/** Lets the app fill localStorage to the last character. */
async function fillLocalStorage(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (let size = 1 << 22; size >= 1; size >>= 1) {
      try {
        for (let part = 0; ; part++) localStorage.setItem(`filling-${String(size)}-${String(part)}`, "x".repeat(size));
      } catch {
        // A smaller piece may still fit.
      }
    }
  });
}

/** Leaves the stored rows in localStorage, too, as a page does that goes before its put is done. */
async function copyRowsToLocalStorage(page: Page): Promise<void> {
  await inDatabase(page, (store) => {
    const keys = store.getAllKeys();
    const values = store.getAll();
    values.onsuccess = () => {
      for (const [index, key] of keys.result.entries())
        if (typeof key === "string" && key.includes("/r/")) localStorage.setItem(key, String(values.result[index]));
    };
  });
  expect(await rowsInLocalStorage(page)).toHaveLength(1);
}

async function emptyIndexedDb(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        indexedDB.deleteDatabase("the app's own").onsuccess = () => {
          resolve();
        };
      }),
  );
}

/** Does something with the package's object store. */
async function inDatabase(page: Page, change: (store: IDBObjectStore) => void): Promise<void> {
  await page.evaluate(`new Promise((resolve, reject) => {
    const opening = indexedDB.open("seenguard");
    opening.onupgradeneeded = () => opening.result.createObjectStore("rows");
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction("rows", "readwrite");
      transaction.oncomplete = () => {
        database.close();
        resolve();
      };
      transaction.onabort = () => reject(new Error(String(transaction.error)));
      (${change.toString()})(transaction.objectStore("rows"));
    };
  })`);
}

test.describe("IndexedDB that is full", () => {
  test("i5: is said to be, the feed goes on, and all is written when there is room again", async ({ page, site }) => {
    await visit(page, site);
    await limitQuota(page, site);
    await record(page, idsOf("early", 20));
    await flush(page);
    await fillIndexedDb(page);
    for (const id of idsOf("while full", 30)) await record(page, [id]);
    const chain = await ShardChain.create();
    chain.record("seen elsewhere");
    await apply(page, chain.snapshot());
    chain.free();
    await flush(page);
    expect((await stats(page)).storage).toBe("full");
    expect(await codes(page)).toEqual(["storage"]);
    const all = [...idsOf("early", 20), ...idsOf("while full", 30), "new"];
    expect(await fresh(page, ["seen elsewhere", ...all])).toEqual(["new"]);

    await emptyIndexedDb(page);
    // Nobody records anything: it is tried again by itself.
    await expect.poll(async () => (await stats(page)).storage, { timeout: 20_000 }).toBe("indexeddb");
    await flush(page);
    await page.reload();
    await openGuard(page);
    // The snapshot has made way for the impressions: the server ships it again.
    expect(await fresh(page, ["seen elsewhere", ...all])).toEqual(["seen elsewhere", "new"]);
    expect(await codes(page)).toEqual([]);
  });
});

test("a full localStorage is reported once, keeps the newest data, and stores new data when there is space", async ({
  page,
  site,
}) => {
  await visit(page, site, { storage: "local" });
  await record(page, idsOf("early", 20));
  await flush(page);
  await fillLocalStorage(page);
  for (const id of idsOf("while full", 300)) await record(page, [id]);
  await flush(page);
  expect(await codes(page)).toEqual(["storage"]);
  const all = [...idsOf("early", 20), ...idsOf("while full", 300)];
  expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
  const next = await visit(await page.context().newPage(), site, { storage: "local" });
  const lost = await fresh(next, all);
  console.log(`localStorage that is full has lost the oldest ${String(lost.length)} of ${String(all.length)}`);
  expect(lost).toEqual(all.slice(0, lost.length));
  expect(lost.length).toBeLessThan(all.length);
  await next.close();

  await page.evaluate(() => {
    for (const key of Object.keys(localStorage)) if (key.startsWith("filling")) localStorage.removeItem(key);
  });
  await record(page, ["with room again"]);
  await flush(page);
  await expect.poll(async () => (await stats(page)).storage, { timeout: 20_000 }).toBe("local");
  await page.reload();
  await openGuard(page, { storage: "local" });
  expect(await fresh(page, [...all.slice(lost.length), "with room again", "new"])).toEqual(["new"]);
});

test.describe("storage that is denied", () => {
  for (const storage of ["indexeddb", "local"] as const) {
    test(`i5: in a sandboxed frame leaves a guard that works without it, with ${storage}`, async ({ page, site }) => {
      site.documents.set("/framing", documentOf("framing", '<iframe sandbox="allow-scripts" src="/framed"></iframe>'));
      await page.goto(`${site.origin}/framing`);
      const frame = page.frames()[1];
      if (frame === undefined) throw new Error("no frame in this page");
      await frame.waitForLoadState();
      await openGuard(frame, { storage });
      expect(await stats(frame)).toMatchObject({ engine: "wasm", storage: "unavailable" });
      expect(new Set(await codes(frame))).toEqual(new Set(["storage"]));
      await record(frame, ["a"]);
      await flush(frame);
      expect(await fresh(frame, ["a", "b"])).toEqual(["b"]);
      await frame.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), "home:reader");
      expect(await fresh(frame, ["a", "b"])).toEqual(["a", "b"]);
      await frame.evaluate(() => window.guard.close());
    });
  }

  test("by a user who blocks all storage leaves a signal, too", async ({ site }) => {
    const profile = await Profile.create({ profile: { default_content_setting_values: { cookies: 2 } } });
    try {
      const browser = await profile.start();
      const page = await browser.newPage();
      await page.goto(site.origin);
      await openGuard(page);
      expect(await stats(page)).toMatchObject({ engine: "wasm", storage: "unavailable" });
      await record(page, ["a"]);
      expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
      expect(new Set(await codes(page))).toEqual(new Set(["storage"]));
    } finally {
      await profile.remove();
    }
  });
});

test.describe("content of IndexedDB", () => {
  test("in a database of the same name that is an app's own is left alone, and ours is added to it", async ({
    page,
    site,
  }) => {
    await page.goto(site.origin);
    await page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const opening = indexedDB.open("seenguard", 7);
          opening.onupgradeneeded = () => opening.result.createObjectStore("another");
          opening.onsuccess = () => {
            opening.result.close();
            resolve();
          };
        }),
    );
    await openGuard(page);
    expect((await stats(page)).storage).toBe("indexeddb");
    expect(await codes(page)).toEqual([]);
    await record(page, ["a"]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "new"])).toEqual(["new"]);
  });

  test("that is deleted while the page is open takes nothing from the page, and new content is kept", async ({
    page,
    site,
  }) => {
    await visit(page, site);
    await record(page, ["before"]);
    await flush(page);
    const session = await page.context().newCDPSession(page);
    await session.send("Storage.clearDataForOrigin", { origin: site.origin, storageTypes: "all" });
    expect(await fresh(page, ["before", "new"])).toEqual(["new"]);
    await record(page, ["after"]);
    await flush(page);
    await expect.poll(async () => (await stats(page)).storage, { timeout: 20_000 }).toBe("indexeddb");
    expect(await fresh(page, ["before", "after", "new"])).toEqual(["new"]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["after", "new"])).toEqual(["new"]);
  });

  test("i6: that is gone loses no data that a page left in localStorage", async ({ page, site }) => {
    await visit(page, site);
    await record(page, ["left"]);
    await flush(page);
    await copyRowsToLocalStorage(page);
    const session = await page.context().newCDPSession(page);
    await session.send("Storage.clearDataForOrigin", { origin: site.origin, storageTypes: "indexeddb" });
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["left", "new"])).toEqual(["new"]);
    // The first pass moves it into the database.
    await page.waitForTimeout(2_500);
    await flush(page);
    expect(await rowsInLocalStorage(page)).toEqual([]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["left", "new"])).toEqual(["new"]);
    expect(await page.evaluate(() => window.guard.pending())).toEqual(["left"]);
  });

  test("i6: that another tab has moved from localStorage meanwhile is not lost", async ({ page, site }) => {
    await visit(page, site);
    await record(page, ["left"]);
    await flush(page);
    await copyRowsToLocalStorage(page);
    await page.reload();
    // The other tab removes the row as soon as this one has listed it.
    await page.evaluate(() => {
      const getItem = Storage.prototype.getItem.bind(localStorage);
      Storage.prototype.getItem = (key) => (key.includes("/r/") ? null : getItem(key));
    });
    await openGuard(page);
    expect(await fresh(page, ["left", "new"])).toEqual(["new"]);
    await record(page, ["after"]);
    await page.waitForTimeout(2_500);
    await flush(page);
    expect(await codes(page)).toEqual([]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["left", "after", "new"])).toEqual(["new"]);
  });
});

test("a visit opens the database once, before it has an engine", async ({ page, site }) => {
  await page.addInitScript(() => {
    window.openings = 0;
    const open = Reflect.get<IDBFactory, "open">(IDBFactory.prototype, "open");
    IDBFactory.prototype.open = function (...given) {
      window.openings++;
      return open.apply(this, given);
    };
    // It comes when the database has been open for long.
    const instantiate = WebAssembly.instantiate.bind(WebAssembly) as (...given: unknown[]) => Promise<unknown>;
    Object.assign(WebAssembly, {
      instantiate: async (...given: unknown[]) => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return instantiate(...given);
      },
    });
  });
  await visit(page, site);
  await record(page, ["a"]);
  await flush(page);
  expect(await page.evaluate(() => window.openings)).toBe(1);
});
