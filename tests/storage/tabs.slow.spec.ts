/** Several tabs of one namespace: they see each other's impressions, lose none of them, and forget together. */
import type { Page } from "@playwright/test";
import type { SeenGuard } from "seenguard";
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
  report,
  rowsInLocalStorage,
  stats,
  test,
  visit,
} from "../support/pages.js";

declare global {
  interface Window {
    /** A guard beside the page's. */
    other: SeenGuard;
    /** The modes of the transactions that were begun, or what was asked of them. */
    begun: string[];
    /** What became of the page's latest pass. */
    ended: string | undefined;
  }
}

for (const storage of ["indexeddb", "local"] as const) {
  test.describe(`tabs that keep their impressions in ${storage}`, () => {
    test("i1: see each other's without a reload, and one that opens later sees all", async ({ context, site }) => {
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
      test(`i6: record 500 ids each at once and lose none, tab ${String(first)} closing first`, async ({
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

    test("i6: forget together when one clears, and no late write brings anything back", async ({ context, site }) => {
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

test("a tab without a guard clears for tabs with one", async ({ context, site }) => {
  const [guarded, other] = [await context.newPage(), await context.newPage()];
  await visit(guarded, site);
  await record(guarded, ["a"]);
  await flush(guarded);
  await other.goto(site.origin);
  await other.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
  await expect.poll(() => fresh(guarded, ["a"])).toEqual(["a"]);
  expect(await keysInIndexedDb(other)).toEqual([expect.stringMatching(/^seenguard\/home:reader\/\w{11}\/m$/)]);
  expect(await rowsInLocalStorage(other)).toEqual([]);
});

test("i7: over 1,000 visits the keys stay few and nothing recent is forgotten", async ({ page, site }) => {
  await page.goto(site.origin);
  const most = await page.evaluate(async (namespace) => {
    let most = 0;
    const database = await new Promise<IDBDatabase>((resolve) => {
      const opening = indexedDB.open("seenguard");
      opening.onupgradeneeded = () => opening.result.createObjectStore("rows");
      opening.onsuccess = () => {
        resolve(opening.result);
      };
    });
    const countKeys = () =>
      new Promise<number>((resolve) => {
        const counting = database.transaction("rows").objectStore("rows").count();
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

/** After this a page has made its first pass. */
const PASS_MS = 2_500;
/** Beside signals a visible page looks so often. */
const LOOK_MS = 10_000;
/** What a machine that is busy with other things takes more. */
const BUSY_MS = 5_000;

test.describe("where no signal arrives", () => {
  test("a page whose localStorage throws sees the others' within ten seconds, and at flush at once", async ({
    context,
    site,
  }) => {
    const [denied, other] = [await context.newPage(), await context.newPage()];
    await denied.addInitScript(() => {
      Object.defineProperty(window, "localStorage", {
        get: () => {
          throw new DOMException("denied", "SecurityError");
        },
      });
    });
    for (const page of [denied, other]) await visit(page, site);
    await record(other, ["a"]);
    await flush(other);
    await flush(denied);
    expect(await fresh(denied, ["a", "new"])).toEqual(["new"]);
    await record(other, ["b"]);
    await record(denied, ["of the denied"]);
    const timeout = LOOK_MS + BUSY_MS;
    await expect.poll(() => fresh(denied, ["b", "new"]), { timeout }).toEqual(["new"]);
    await expect.poll(() => fresh(other, ["of the denied", "new"]), { timeout }).toEqual(["new"]);
    // It hears of a clear so, too, and delivers nothing before.
    await other.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
    await report(denied);
    await expect.poll(() => fresh(denied, ["b", "of the denied"]), { timeout }).toEqual(["b", "of the denied"]);
    await record(denied, ["later"]);
    await expect.poll(() => site.delivered).toEqual(["later"]);
    expect((await stats(denied)).storage).toBe("indexeddb");
  });

  test("i6: a second copy of the package on the page sees the first one's within ten seconds", async ({
    page,
    site,
  }) => {
    await visit(page, site);
    await page.evaluate(async (namespace) => {
      const scope = globalThis as unknown as Record<symbol, unknown>;
      // Another version's has another registry.
      for (const symbol of Object.getOwnPropertySymbols(scope))
        if (symbol.description?.startsWith("seenguard.registry")) Reflect.deleteProperty(scope, symbol);
      window.other = await Seenguard.SeenGuard.open({ namespace });
    }, NAMESPACE);
    await record(page, ["of the first"]);
    const passed = () => page.evaluate(() => window.other.filter(["of the first", "of the second", "new"]));
    await expect.poll(passed, { timeout: LOOK_MS + BUSY_MS }).toEqual(["of the second", "new"]);
    await page.evaluate(() => window.other.record("of the second"));
    await flush(page);
    expect(await fresh(page, ["of the second", "new"])).toEqual(["new"]);
  });
});

/** Counts the page's transactions from its next document on, by mode. */
async function countTransactions(page: Page): Promise<void> {
  await page.addInitScript(() => {
    window.begun = [];
    const transaction = Reflect.get(IDBDatabase.prototype, "transaction");
    IDBDatabase.prototype.transaction = function (...given) {
      window.begun.push(given[1] ?? "readonly");
      return transaction.apply(this, given);
    };
  });
}

const begun = (page: Page) => page.evaluate(() => window.begun.splice(0));

const setVisibility = (page: Page, visibility: DocumentVisibilityState) =>
  page.evaluate((visibility) => {
    Object.defineProperty(document, "visibilityState", { value: visibility, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, visibility);

test.describe("a hidden tab", () => {
  test("i6: begins no transaction regardless of other tabs, and sees everything when it is shown", async ({
    context,
    site,
  }) => {
    const [hidden, other] = [await context.newPage(), await context.newPage()];
    await countTransactions(hidden);
    for (const page of [hidden, other]) await visit(page, site);
    await record(hidden, ["before"]);
    await flush(hidden);
    await setVisibility(hidden, "hidden");
    await flush(hidden);
    await begun(hidden);
    for (const id of idsOf("id", 30)) {
      await record(other, [id]);
      await flush(other);
    }
    await other.waitForTimeout(LOOK_MS + 1_000);
    expect(await begun(hidden)).toEqual([]);
    await setVisibility(hidden, "visible");
    await expect.poll(() => fresh(hidden, [...idsOf("id", 30), "new"]), { timeout: BUSY_MS }).toEqual(["new"]);
  });

  test("that was frozen has heard of everything once it runs again, of a clear at once", async ({ context, site }) => {
    const [frozen, other] = [await context.newPage(), await context.newPage()];
    for (const page of [frozen, other]) await visit(page, site);
    await report(frozen, { intervalMs: 2_000 });
    const session = await context.newCDPSession(frozen);
    const freeze = (state: "frozen" | "active") => session.send("Page.setWebLifecycleState", { state });
    await record(frozen, ["before it froze"]);
    await freeze("frozen");
    await record(other, ["meanwhile"]);
    await flush(other);
    await freeze("active");
    await expect.poll(() => fresh(frozen, ["meanwhile", "new"]), { timeout: BUSY_MS }).toEqual(["new"]);
    await expect.poll(() => site.delivered).toEqual(["before it froze"]);
    await record(frozen, ["not delivered yet"]);
    await freeze("frozen");
    await other.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
    await freeze("active");
    expect(await frozen.evaluate(() => window.guard.pending())).toEqual([]);
    const all = ["before it froze", "meanwhile", "not delivered yet"];
    await expect.poll(() => fresh(frozen, all)).toEqual(all);
    await frozen.waitForTimeout(2_500);
    expect(site.delivered).toEqual(["before it froze"]);
  });

  test("i6: gives up a pass that it is in the middle of, and the others write at once", async ({ context, site }) => {
    const [hiding, other] = [await context.newPage(), await context.newPage()];
    for (const page of [hiding, other]) await visit(page, site);
    for (const id of idsOf("id", 20)) {
      await record(other, [id]);
      await flush(other);
    }
    await hiding.evaluate(() => {
      // A page that hides as its pass has listed the keys.
      const getAllKeys = Reflect.get(IDBObjectStore.prototype, "getAllKeys");
      IDBObjectStore.prototype.getAllKeys = function (...given) {
        const request = getAllKeys.apply(this, given);
        if (this.transaction.mode === "readwrite") {
          window.ended ??= "goes on";
          this.transaction.addEventListener("abort", () => (window.ended = "aborted"));
          this.transaction.addEventListener("complete", () => (window.ended = "completed"));
          request.addEventListener("success", () => {
            Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
          });
        }
        return request;
      };
    });
    await expect
      .poll(async () => {
        await record(hiding, [`of the hiding ${String(Math.random())}`]);
        await flush(hiding);
        return hiding.evaluate(() => window.ended);
      })
      .toBe("aborted");
    await record(other, ["after"]);
    await flush(other);
    const later = await visit(await context.newPage(), site);
    expect(await fresh(later, [...idsOf("id", 20), "after", "new"])).toEqual(["new"]);
    expect(await codes(hiding)).toEqual([]);
  });
});

test("i7: no tab waits to write while another one looks for idle namespaces", async ({ page, site }) => {
  await page.addInitScript(() => {
    window.begun = [];
    const getAllKeys = Reflect.get(IDBObjectStore.prototype, "getAllKeys");
    IDBObjectStore.prototype.getAllKeys = function (...given) {
      const [range] = given;
      if (range instanceof IDBKeyRange) window.begun.push(`${this.transaction.mode} ${String(range.lower)}`);
      return getAllKeys.apply(this, given);
    };
  });
  await visit(page, site);
  await page.waitForTimeout(PASS_MS);
  await flush(page);
  const asked = await begun(page);
  expect(asked).toContain("readonly seenguard/");
  expect(asked).not.toContain("readwrite seenguard/");
});

test("at a signal no keys are listed but the namespace's own, and no row is read twice", async ({ context, site }) => {
  const [one, two] = [await context.newPage(), await context.newPage()];
  for (let number = 0; number < 5; number++) {
    await visit(one, site, { namespace: `home:other-${String(number)}` });
    await record(one, ["a"]);
    await flush(one);
  }
  for (const page of [one, two]) await visit(page, site);
  await two.waitForTimeout(PASS_MS);
  await flush(two);
  await two.evaluate(() => {
    window.begun = [];
    for (const name of ["getAllKeys", "get"] as const) {
      const method = Reflect.get(IDBObjectStore.prototype, name) as (key: unknown) => IDBRequest;
      Object.assign(IDBObjectStore.prototype, {
        [name](this: IDBObjectStore, key: unknown) {
          window.begun.push(key instanceof IDBKeyRange ? `from ${String(key.lower)}` : String(key));
          return method.call(this, key);
        },
      });
    }
  });
  for (const id of idsOf("id", 5)) {
    await record(one, [id]);
    await expect.poll(() => fresh(two, [id, "new"])).toEqual(["new"]);
  }
  const asked = await begun(two);
  expect(asked.filter((key) => !key.includes("seenguard/home:reader/"))).toEqual([]);
  const rows = asked.filter((key) => key.includes("/r/"));
  expect(new Set(rows).size).toBe(rows.length);
});
