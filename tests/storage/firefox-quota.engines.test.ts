/** Firefox's databases accept only deletions after a write that did not fit: the guard continues nonetheless. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { codes, flush, fresh, idsOf, openGuard, record, stats } from "../support/pages.js";
import { Site } from "../support/site.js";
import { startFirefoxEngine, type Engine, type EngineWindow } from "../support/engine.js";

const APP_DATABASE = "the app's own";

let engine: Engine;
let site: Site;

beforeAll(async () => {
  site = await Site.start();
  engine = await startFirefoxEngine();
});

afterAll(async () => {
  await engine.end();
  await site.close();
});

/** Fills a database of the app until nothing fits any more. */
async function fillIndexedDb(tab: EngineWindow): Promise<void> {
  await tab.evaluate(async (name) => {
    const fits = async (size: number) => {
      const database = await new Promise<IDBDatabase>((resolve) => {
        const opening = indexedDB.open(name);
        opening.onupgradeneeded = () => opening.result.createObjectStore("pictures", { autoIncrement: true });
        opening.onsuccess = () => {
          resolve(opening.result);
        };
      });
      return new Promise<boolean>((resolve) => {
        const transaction = database.transaction("pictures", "readwrite");
        transaction.oncomplete = () => {
          database.close();
          resolve(true);
        };
        transaction.onabort = () => {
          resolve(false);
        };
        // Random, like images: repetitive data would be compressed.
        const picture = new Uint8Array(size);
        for (let at = 0; at < size; at += 1 << 16) crypto.getRandomValues(picture.subarray(at, at + (1 << 16)));
        transaction.objectStore("pictures").add(picture);
      });
    };
    for (let size = 1 << 20; size >= 512; size >>= 1) while (await fits(size));
  }, APP_DATABASE);
}

test("a full IndexedDB is reported as such only, and stores new data when there is space again", async () => {
  const options = { namespace: "full:indexeddb" };
  const tab = await engine.newWindow();
  await tab.open(site.origin);
  await openGuard(tab, options);
  await record(tab, ["early"]);
  await flush(tab);
  await fillIndexedDb(tab);
  // Long ids: small writes still fit, and are compacted.
  const ids = idsOf(`while full ${"x".repeat(400)}`, 50);
  for (const id of ids) {
    await record(tab, [id]);
    await flush(tab);
  }
  expect(new Set(await codes(tab))).toEqual(new Set(["storage"]));
  await tab.evaluate((name) => void indexedDB.deleteDatabase(name), APP_DATABASE);
  const afterFlush = async () => {
    await flush(tab);
    return (await stats(tab)).storage;
  };
  await expect.poll(afterFlush, { timeout: 20_000 }).toBe("indexeddb");
  await tab.reload();
  await openGuard(tab, options);
  expect(await fresh(tab, ["early", ...ids, "new"])).toEqual(["new"]);
  expect(await codes(tab)).toEqual([]);
});
