/** A page that hides or goes: what it has not written yet reaches its next visit and the other tabs, and nothing piles up. */
import type { Page } from "@playwright/test";
import { expect, flush, fresh, idsOf, NAMESPACE, openGuard, record, stashesOn, test, visit } from "../support/pages.js";

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

test("i6: while IndexedDB refuses writes it leaves one stash, however often it hides, and the next visit saves it", async ({
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
  expect(await stashesOn(page)).toHaveLength(1);
  expect(await charactersInLocalStorage(page)).toBeLessThanOrEqual(50_000);
  expect(uncaught).toEqual([]);
  await page.reload();
  await openGuard(page);
  // A stash has the latest thousand.
  expect(await fresh(page, [...ids.slice(-1_000), "new"])).toEqual(["new"]);
  await page.waitForTimeout(2_500);
  await flush(page);
  await expect.poll(() => stashesOn(page)).toEqual([]);
  await page.reload();
  await openGuard(page);
  expect(await fresh(page, [...ids.slice(-1_000), "new"])).toEqual(["new"]);
});

test("i6: a put that is under way as it hides is made again, and is in localStorage until then", async ({
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
      if (key.includes("/s/")) local.push(key);
      setItem(key, value);
    };
    window.guard.record("a");
    await isUnderWay;
    dispatchEvent(new Event("pagehide"));
    await window.guard.flush();
    return { puts: puts.length, local: local.length };
  });
  expect(counted).toEqual({ puts: 2, local: 1 });
  await expect.poll(() => stashesOn(page)).toEqual([]);
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
  expect(begun).toEqual(["put", "commit", "put", "commit", "put", "commit"]);
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
