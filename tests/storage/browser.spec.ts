/** Storage in a real browser across visits and tabs; and full, denied or deleted storage. */
import type { Page } from "@playwright/test";
import { ShardChain } from "seenguard/server";
import { Profile } from "../support/browsers.js";
import {
  apply,
  codes,
  expect,
  flush,
  fresh,
  held,
  idsOf,
  NAMESPACE,
  openGuard,
  record,
  stats,
  test,
  visit,
} from "../support/pages.js";
import { documentOf, type Site } from "../support/site.js";

/** The keys in the package's object store. */
function keysIn(page: Page): Promise<string[]> {
  return page.evaluate(
    () =>
      new Promise<string[]>((resolve) => {
        const opening = indexedDB.open("seenguard");
        opening.onsuccess = () => {
          const { result } = opening;
          const [name = ""] = result.objectStoreNames;
          const listing = result.transaction(name).objectStore(name).getAllKeys();
          listing.onsuccess = () => {
            result.close();
            resolve(listing.result.map(String));
          };
        };
      }),
  );
}

const rowsIn = async (page: Page) => (await keysIn(page)).filter((key) => key.includes("/r/"));
const stashesIn = (page: Page) =>
  page.evaluate(() => Object.keys(localStorage).filter((key) => /^seenguard\/.*\/s\//.test(key)));

/** From the next document on every opening of a database is refused. */
const refuseToOpen = (page: Page, name: string) =>
  page.addInitScript((name) => {
    IDBFactory.prototype.open = () => {
      throw new DOMException("the disk is gone", name);
    };
  }, name);

const clear = (page: Page) => page.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);

test("i1: recorded ids and the snapshot in use survive a reload, and are pending and held as before", async ({
  page,
  site,
}) => {
  await visit(page, site);
  const chain = await ShardChain.create();
  chain.record("seen elsewhere");
  await apply(page, chain.snapshot());
  chain.free();
  await record(page, ["a", "🦀\0", ""]);
  await flush(page);
  const names = await held(page);
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, ["a", "🦀\0", "", "seen elsewhere", "b"])).toEqual(["b"]);
  expect(await page.evaluate(() => window.guard.pending())).toEqual(["a", "🦀\0", ""]);
  expect(await held(page)).toBe(names);
  expect(await codes(page)).toEqual([]);
  expect((await stats(page)).storage).toBe("indexeddb");
});

test("i6: ids recorded in the task in which the page navigates are stored", async ({ page, site }) => {
  await visit(page, site);
  await page.evaluate(() => {
    window.guard.record("a");
    location.href = "/elsewhere";
  });
  await page.waitForURL("**/elsewhere");
  await openGuard(page);
  expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
});

test.describe("two tabs", () => {
  test("i1: share ids without a reload, and clears", async ({ context, site }) => {
    const [one, two] = [await context.newPage(), await context.newPage()];
    for (const page of [one, two]) await visit(page, site);
    await record(one, ["of one"]);
    await record(two, ["of two"]);
    for (const page of [one, two]) await expect.poll(() => fresh(page, ["of one", "of two", "new"])).toEqual(["new"]);
    await clear(one);
    for (const page of [one, two])
      await expect.poll(() => fresh(page, ["of one", "of two"])).toEqual(["of one", "of two"]);
    await record(two, ["later"]);
    await expect.poll(() => fresh(one, ["later", "new"])).toEqual(["new"]);
    for (const page of [one, two]) expect(await codes(page)).toEqual([]);
  });

  test("i6: that record five hundred ids each at once lose none", async ({ context, site }) => {
    const pages = [await context.newPage(), await context.newPage()];
    for (const page of pages) await visit(page, site);
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
    for (const page of pages) await page.close();
    const next = await visit(await context.newPage(), site);
    expect(await fresh(next, [...idsOf("tab-0", 500), ...idsOf("tab-1", 500), "new"])).toEqual(["new"]);
  });
});

test("i6: a frozen tab has all recordings once it runs again, and a clear at once", async ({ context, site }) => {
  const [frozen, other] = [await context.newPage(), await context.newPage()];
  for (const page of [frozen, other]) await visit(page, site);
  await frozen.evaluate(() => window.guard.report({ url: "/impressions", intervalMs: 10_000 }));
  const session = await context.newCDPSession(frozen);
  const freeze = (state: "frozen" | "active") => session.send("Page.setWebLifecycleState", { state });
  await record(frozen, ["before it froze"]);
  await freeze("frozen");
  await record(other, ["meanwhile"]);
  await flush(other);
  await freeze("active");
  await expect.poll(() => fresh(frozen, ["meanwhile", "new"])).toEqual(["new"]);
  await expect.poll(() => site.delivered).toContain("before it froze");
  await record(frozen, ["not delivered yet"]);
  await freeze("frozen");
  await clear(other);
  await freeze("active");
  expect(await frozen.evaluate(() => window.guard.pending())).toEqual([]);
  const all = ["before it froze", "meanwhile", "not delivered yet"];
  await expect.poll(() => fresh(frozen, all)).toEqual(all);
  await frozen.waitForTimeout(2_500);
  expect(site.delivered).not.toContain("not delivered yet");
});

test("at a signal only keys of the namespace are listed, and no row is read twice", async ({ context, site }) => {
  const [one, two] = [await context.newPage(), await context.newPage()];
  for (const page of [one, two]) await visit(page, site);
  // The maintenance two seconds after an open has run.
  await two.waitForTimeout(2_500);
  await two.evaluate(() => {
    const read: string[] = [];
    Object.assign(window, { read });
    for (const name of ["getAllKeys", "get"] as const) {
      const method = Reflect.get(IDBObjectStore.prototype, name) as (key: unknown) => IDBRequest;
      Object.assign(IDBObjectStore.prototype, {
        [name](this: IDBObjectStore, key: unknown) {
          read.push(key instanceof IDBKeyRange ? String(key.lower) : String(key));
          return method.call(this, key);
        },
      });
    }
  });
  for (const id of idsOf("id", 5)) {
    await record(one, [id]);
    await expect.poll(() => fresh(two, [id, "new"])).toEqual(["new"]);
  }
  const read = await two.evaluate(() => (window as unknown as { read: string[] }).read);
  expect(read.filter((key) => !key.startsWith("seenguard/home:reader/"))).toEqual([]);
  const rows = read.filter((key) => key.includes("/r/"));
  expect(rows.length).toBeGreaterThan(0);
  expect(new Set(rows).size).toBe(rows.length);
});

test("i6: a sign-out clears although localStorage is emptied and the page navigates in the same task", async ({
  page,
  site,
}) => {
  await visit(page, site);
  await record(page, ["secret"]);
  await flush(page);
  await page.evaluate((namespace) => {
    void Seenguard.SeenGuard.clear(namespace);
    localStorage.clear();
    location.href = "/elsewhere";
  }, NAMESPACE);
  await page.waitForURL("**/elsewhere");
  await openGuard(page);
  expect(await fresh(page, ["secret"])).toEqual(["secret"]);
  // Only the empty row of the clear and the row of this visit exist.
  expect((await rowsIn(page)).length).toBeLessThanOrEqual(2);
});

test.describe("a clear", () => {
  test("i6: applies in a tab that receives no event before it returns or sends anything", async ({ context, site }) => {
    const [clearing, other] = [await context.newPage(), await context.newPage()];
    await other.addInitScript(() => {
      addEventListener("storage", (event) => event.stopImmediatePropagation(), { capture: true });
    });
    for (const page of [clearing, other]) await visit(page, site);
    await other.evaluate(() => window.guard.report({ url: "/impressions", intervalMs: 7_500 }));
    await record(other, ["cleared"]);
    await clear(clearing);
    expect(await other.evaluate(() => window.guard.pending())).toEqual([]);
    await record(other, ["later"]);
    await expect.poll(() => site.delivered).toEqual(["later"]);
    await flush(other);
    const next = await visit(await context.newPage(), site);
    expect(await fresh(next, ["cleared", "later"])).toEqual(["cleared"]);
  });

  for (const where of ["this", "another"])
    test(`i6: in ${where} tab gives up a batch that waits for the app's headers`, async ({ context, site }) => {
      const page = await visit(await context.newPage(), site);
      const waits = page.waitForEvent("console", (message) => message.text() === "headers are awaited");
      await page.evaluate(() => {
        window.guard.report({
          url: "/impressions",
          intervalMs: 100,
          headers: () =>
            new Promise((resolve) => {
              console.info("headers are awaited");
              addEventListener("headers", () => resolve({ authorization: "Bearer token" }), { once: true });
            }),
        });
      });
      await record(page, ["before the clear"]);
      await waits;
      const clearing = where === "this" ? page : await context.newPage();
      if (clearing !== page) await clearing.goto(site.origin);
      await clear(clearing);
      await expect.poll(() => page.evaluate(() => window.guard.pending())).toEqual([]);
      await page.evaluate(() => dispatchEvent(new Event("headers")));
      await page.waitForTimeout(500);
      expect(site.deliveries).toEqual([]);
    });

  test("rejects if IndexedDB fails that was in use, and the next page with IndexedDB completes it", async ({
    context,
    site,
  }) => {
    const past = await visit(await context.newPage(), site);
    await record(past, ["a"]);
    await flush(past);
    await past.close();
    const without = await context.newPage();
    await refuseToOpen(without, "UnknownError");
    await without.goto(site.origin);
    await expect(clear(without)).rejects.toThrow();
    await without.close();
    const next = await visit(await context.newPage(), site);
    expect(await fresh(next, ["a"])).toEqual(["a"]);
  });
});

test.describe("where IndexedDB is denied", () => {
  test("i5: localStorage stores unsaved impressions for the next visit, the failure is reported, and clear removes them", async ({
    page,
    site,
  }) => {
    await refuseToOpen(page, "SecurityError");
    await visit(page, site);
    await record(page, ["a"]);
    expect((await stats(page)).storage).toBe("unavailable");
    await expect.poll(() => codes(page)).toEqual(["storage"]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
    await clear(page);
    expect(await stashesIn(page)).toEqual([]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a"])).toEqual(["a"]);
  });

  test("i5: and localStorage, too, as in a sandboxed frame, the guard works without storage", async ({
    page,
    site,
  }) => {
    site.documents.set("/framing", documentOf("framing", '<iframe sandbox="allow-scripts" src="/framed"></iframe>'));
    await page.goto(`${site.origin}/framing`);
    const frame = page.frames()[1];
    if (frame === undefined) throw new Error("no frame in this page");
    await frame.waitForLoadState();
    await openGuard(frame);
    await record(frame, ["a"]);
    await flush(frame);
    expect(await stats(frame)).toMatchObject({ engine: "wasm", storage: "unavailable" });
    expect(new Set(await codes(frame))).toEqual(new Set(["storage"]));
    expect(await fresh(frame, ["a", "b"])).toEqual(["b"]);
    await frame.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
    expect(await fresh(frame, ["a"])).toEqual(["a"]);
    await frame.evaluate(() => window.guard.close());
  });
});

test("i5: if the user blocks all storage the guard works without it, and reports it", async ({ site }) => {
  const profile = await Profile.create({ profile: { default_content_setting_values: { cookies: 2 } } });
  try {
    const page = await (await profile.start()).newPage();
    await page.goto(site.origin);
    await openGuard(page);
    await record(page, ["a"]);
    expect(await stats(page)).toMatchObject({ engine: "wasm", storage: "unavailable" });
    expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
    expect(new Set(await codes(page))).toEqual(new Set(["storage"]));
  } finally {
    await profile.remove();
  }
});

/** Limits the origin's quota to a megabyte, while the page lives, and fills it. */
async function fill(page: Page, site: Site): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Storage.overrideQuotaForOrigin", { origin: site.origin, quotaSize: 1_000_000 });
  await page.evaluate(async () => {
    const database = await new Promise<IDBDatabase>((resolve) => {
      const opening = indexedDB.open("the app's own");
      opening.onupgradeneeded = () => opening.result.createObjectStore("pictures", { autoIncrement: true });
      opening.onsuccess = () => resolve(opening.result);
    });
    const fits = (size: number) =>
      new Promise<boolean>((resolve) => {
        const transaction = database.transaction("pictures", "readwrite");
        transaction.oncomplete = () => resolve(true);
        transaction.onabort = () => resolve(false);
        // Random, like images: repetitive data would be compressed.
        transaction.objectStore("pictures").add(crypto.getRandomValues(new Uint8Array(size)));
      });
    // Chromium frees space while nothing is written: repeat until nothing fits after a pause either.
    for (let hasFitted = true; hasFitted;) {
      hasFitted = false;
      for (let size = 1 << 16; size >= 512; size >>= 1) while (await fits(size)) hasFitted = true;
      if (hasFitted) await new Promise((resolve) => setTimeout(resolve, 500));
    }
    database.close();
  });
}

test("i5: a full disk is reported once, the feed continues, and all is stored when there is room again", async ({
  page,
  site,
}) => {
  await visit(page, site);
  await record(page, idsOf("early", 20));
  await flush(page);
  await fill(page, site);
  for (const id of idsOf("while full", 30)) await record(page, [id]);
  await flush(page);
  expect((await stats(page)).storage).toBe("full");
  expect(await codes(page)).toEqual(["storage"]);
  const all = [...idsOf("early", 20), ...idsOf("while full", 30), "new"];
  expect(await fresh(page, all)).toEqual(["new"]);
  await page.evaluate(
    () => new Promise((resolve) => (indexedDB.deleteDatabase("the app's own").onsuccess = () => resolve(undefined))),
  );
  // Nothing is recorded meanwhile: the guard retries by itself.
  await expect.poll(async () => (await stats(page)).storage, { timeout: 20_000 }).toBe("indexeddb");
  await flush(page);
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, all)).toEqual(["new"]);
});

test.describe("the database", () => {
  test("of an earlier edition is deleted with its data", async ({ page, site }) => {
    await page.goto(site.origin);
    await page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const opening = indexedDB.open("seenguard", 1);
          opening.onupgradeneeded = () =>
            opening.result.createObjectStore("rows").put("old", "seenguard/home:reader/m");
          opening.onsuccess = () => {
            opening.result.close();
            resolve();
          };
        }),
    );
    await openGuard(page);
    await record(page, ["a"]);
    await flush(page);
    expect(await keysIn(page)).toEqual([expect.stringContaining("/r/")]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
    expect(await codes(page)).toEqual([]);
  });

  test("of an app with the same name keeps the app's object store", async ({ page, site }) => {
    await page.goto(site.origin);
    const names = () =>
      page.evaluate(
        () =>
          new Promise<string[]>((resolve) => {
            const opening = indexedDB.open("seenguard");
            opening.onupgradeneeded = () => opening.result.createObjectStore("of the app");
            opening.onsuccess = () => {
              opening.result.close();
              resolve([...opening.result.objectStoreNames]);
            };
          }),
      );
    expect(await names()).toEqual(["of the app"]);
    await openGuard(page);
    await record(page, ["a"]);
    await flush(page);
    expect(await names()).toContain("of the app");
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
  });

  test("can be deleted while a guard is open, and new ids go into a new one", async ({ page, site }) => {
    await visit(page, site);
    await record(page, ["before"]);
    await flush(page);
    const deleted = page.evaluate(
      () =>
        new Promise<string>((resolve) => {
          const request = indexedDB.deleteDatabase("seenguard");
          request.onsuccess = () => resolve("deleted");
          request.onblocked = () => resolve("blocked");
        }),
    );
    expect(await deleted).toBe("deleted");
    await record(page, ["after"]);
    await flush(page);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["after", "new"])).toEqual(["new"]);
  });
});
