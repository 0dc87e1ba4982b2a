/**
 * Storage that is full, denied, damaged, or taken away while the page is open: the feed goes on, and what can be kept
 * is kept.
 */
import type { Page } from "@playwright/test";
import { ShardChain } from "seenguard/server";
import { Profile } from "./browsers.js";
import {
  apply,
  codes,
  expect,
  flush,
  fresh,
  idsOf,
  keysInIndexedDb,
  openGuard,
  record,
  stats,
  test,
  visit,
} from "./pages.js";
import { documentOf, type Site } from "./site.js";

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
    for (let size = 1 << 16; size >= 512; size >>= 1) while (await fits(size));
    database.close();
  });
}

/** Leaves the stored segment in localStorage, too, as a page does that goes before its write is done. */
async function stashSegments(page: Page): Promise<void> {
  expect((await keysInIndexedDb(page)).filter((key) => key.includes("/s/"))).toHaveLength(1);
  await inDatabase(page, (store) => {
    const keys = store.getAllKeys();
    const values = store.getAll();
    values.onsuccess = () => {
      for (const [index, key] of keys.result.entries())
        if (typeof key === "string" && key.includes("/s/"))
          localStorage.setItem("seenguard-stash/home:reader/left", String(values.result[index]));
    };
  });
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
    opening.onupgradeneeded = () => opening.result.createObjectStore("segments");
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction("segments", "readwrite");
      transaction.oncomplete = () => {
        database.close();
        resolve();
      };
      transaction.onabort = () => reject(new Error(String(transaction.error)));
      (${change.toString()})(transaction.objectStore("segments"));
    };
  })`);
}

test.describe("IndexedDB that is full", () => {
  test("is said to be, the feed goes on, and all is written when there is room again", async ({ page, site }) => {
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
    expect(await codes(page)).toEqual(["storage-full"]);
    const all = [...idsOf("early", 20), ...idsOf("while full", 30), "seen elsewhere", "new"];
    expect(await fresh(page, all)).toEqual(["new"]);

    await emptyIndexedDb(page);
    // Nobody records anything: it is tried again by itself.
    await expect.poll(async () => (await stats(page)).storage, { timeout: 20_000 }).toBe("indexeddb");
    await flush(page);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, all)).toEqual(["new"]);
    expect(await codes(page)).toEqual([]);
  });

  test("when the page opens, what is there is read, and what does not fit is in memory", async ({ page, site }) => {
    await visit(page, site);
    await limitQuota(page, site);
    await record(page, ["early"]);
    await flush(page);
    await fillIndexedDb(page);
    for (let again = 0; again < 3; again++) {
      await page.reload();
      await openGuard(page);
      await record(page, ["a"]);
      await flush(page);
      expect(await fresh(page, ["early", "a", "new"])).toEqual(["new"]);
      expect((await stats(page)).storage).toBe("full");
      expect(await codes(page)).toEqual(["storage-full"]);
    }
  });

  test("keeps no tab from the others' impressions once there is room", async ({ context, site }) => {
    const [one, two] = [await context.newPage(), await context.newPage()];
    for (const page of [one, two]) await visit(page, site);
    await limitQuota(one, site);
    await fillIndexedDb(one);
    await record(one, ["while full"]);
    await flush(one);
    expect((await stats(one)).storage).toBe("full");
    await emptyIndexedDb(one);
    await record(one, ["after"]);
    await expect.poll(() => fresh(two, ["while full", "after", "new"])).toEqual(["new"]);
  });
});

test("localStorage that is full is said to be, and takes what is new when there is room again", async ({
  page,
  site,
}) => {
  await visit(page, site, { storage: "local" });
  await record(page, idsOf("early", 20));
  await page.evaluate(() => {
    for (let size = 1 << 22; size >= 1; size >>= 1) {
      try {
        for (let part = 0; ; part++) localStorage.setItem(`filling-${String(size)}-${String(part)}`, "x".repeat(size));
      } catch {
        // A smaller piece may still fit.
      }
    }
  });
  for (const id of idsOf("while full", 30)) await record(page, [id]);
  await flush(page);
  expect((await stats(page)).storage).toBe("full");
  expect(await codes(page)).toEqual(["storage-full"]);
  expect(await fresh(page, [...idsOf("early", 20), ...idsOf("while full", 30), "new"])).toEqual(["new"]);
  await page.reload();
  await openGuard(page, { storage: "local" });
  expect(await fresh(page, [...idsOf("early", 20), "new"])).toEqual(["new"]);

  await record(page, ["after the reload"]);
  await page.evaluate(() => {
    for (const key of Object.keys(localStorage)) if (key.startsWith("filling")) localStorage.removeItem(key);
  });
  await expect.poll(async () => (await stats(page)).storage, { timeout: 20_000 }).toBe("local");
  await page.reload();
  await openGuard(page, { storage: "local" });
  expect(await fresh(page, ["after the reload", "new"])).toEqual(["new"]);
});

test.describe("storage that is denied", () => {
  for (const storage of ["indexeddb", "local"] as const) {
    test(`in a sandboxed frame leaves a guard that works without it, with ${storage}`, async ({ page, site }) => {
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

  test("by a person who lets no site store anything leaves one, too", async ({ site }) => {
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
  test("that is damaged is reported once and set aside, and the rest is kept", async ({ page, site }) => {
    await visit(page, site);
    // Fewer segments than are compacted, which would mend the damage.
    for (const id of idsOf("id", 3)) {
      await record(page, [id]);
      await flush(page);
    }
    await inDatabase(page, (store) => {
      const asking = store.getAllKeys();
      asking.onsuccess = () => {
        const [first] = asking.result.filter((key) => typeof key === "string" && key.includes("/s/"));
        store.put("no segment of any kind", first);
      };
    });
    await page.reload();
    await openGuard(page);
    expect(await codes(page)).toEqual(["storage"]);
    expect((await fresh(page, idsOf("id", 3))).length).toBeLessThanOrEqual(1);
    await record(page, ["after"]);
    await page.reload();
    await openGuard(page);
    expect(await codes(page)).toEqual([]);
    expect(await fresh(page, ["after"])).toEqual([]);
  });

  test("that is no text, under keys that are none, stops nothing", async ({ page, site }) => {
    await visit(page, site);
    await record(page, ["a"]);
    await flush(page);
    await inDatabase(page, (store) => {
      store.put({ an: "object" }, "seenguard/home:reader/s/0/0/00000000000000aa/0");
      store.put(new Blob(["x"]), "seenguard/home:reader/s/0/0/00000000000000aa/1");
      store.put(7, 7);
      store.put("dates may be keys", new Date(0));
      store.put(new Uint8Array(3), "seenguard/home:reader/g");
    });
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "new"])).toEqual(["new"]);
    await record(page, ["b"]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "b", "new"])).toEqual(["new"]);
  });

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

  test("that is gone, though localStorage has what a page left behind, loses nothing of that", async ({
    page,
    site,
  }) => {
    await visit(page, site);
    await record(page, ["left"]);
    await flush(page);
    await stashSegments(page);
    const session = await page.context().newCDPSession(page);
    await session.send("Storage.clearDataForOrigin", { origin: site.origin, storageTypes: "indexeddb" });
    await page.reload();
    await openGuard(page);
    await expect.poll(() => fresh(page, ["left", "new"])).toEqual(["new"]);
    // The next visit takes it over into the database.
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["left", "new"])).toEqual(["new"]);
    await flush(page);
    expect(
      await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("seenguard-stash/"))),
    ).toEqual([]);
  });

  test("that another tab has taken over from what a page left behind is not written over", async ({ page, site }) => {
    await visit(page, site);
    await record(page, ["left"]);
    await flush(page);
    await stashSegments(page);
    await page.reload();
    // The other tab takes the texts off localStorage as soon as this one has listed them.
    await page.evaluate(() => {
      const getItem = Storage.prototype.getItem.bind(localStorage);
      Storage.prototype.getItem = (key) => (key.startsWith("seenguard-stash/") ? null : getItem(key));
    });
    await openGuard(page);
    await flush(page);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["left", "new"])).toEqual(["new"]);
  });
});
