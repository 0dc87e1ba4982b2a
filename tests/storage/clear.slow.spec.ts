/** Clearing: nothing that was cleared is said, sent, written or found again, whatever fails on the way. */
import type { BrowserContext, Page } from "@playwright/test";
import {
  codes,
  expect,
  flush,
  fresh,
  keysInIndexedDb,
  NAMESPACE,
  openGuard,
  record,
  report,
  rowsInLocalStorage,
  stats,
  test,
  untilNamed,
  visit,
} from "../support/pages.js";

/** What becomes of a clear in the page, and how long that took. */
function clear(page: Page, namespace = NAMESPACE): Promise<{ outcome: string; ms: number }> {
  return page.evaluate(async (namespace) => {
    const began = performance.now();
    const outcome = await Seenguard.SeenGuard.clear(namespace).then(
      () => "cleared",
      (error: unknown) => (error as { code: string }).code,
    );
    return { outcome, ms: performance.now() - began };
  }, namespace);
}

/** The rows in IndexedDB. */
const rows = async (page: Page) => (await keysInIndexedDb(page)).filter((key) => key.includes("/r/"));

/** From the next document on every opening of a database is refused. */
const refuseToOpen = (page: Page, name: string) =>
  page.addInitScript((name) => {
    IDBFactory.prototype.open = () => {
      throw new DOMException("the disk is gone", name);
    };
  }, name);

/** From the next document on the page hears of nothing by an event of localStorage. */
const hearsNoEvent = (page: Page) =>
  page.addInitScript(() => {
    addEventListener("storage", (event) => event.stopImmediatePropagation(), { capture: true });
  });

/** A person's visit in a page of its own, which is over. */
async function pastVisit(context: BrowserContext, origin: string, ids: string[], namespace = NAMESPACE): Promise<void> {
  const page = await context.newPage();
  await page.goto(origin);
  await openGuard(page, { namespace });
  await record(page, ids);
  await flush(page);
  await page.close();
}

test.describe("when IndexedDB cannot be reached, clear", () => {
  test("i6: rejects, and the next document that reaches it finishes it", async ({ context, site }) => {
    await pastVisit(context, site.origin, ["a"]);
    const without = await context.newPage();
    await refuseToOpen(without, "UnknownError");
    await without.goto(site.origin);
    expect(await clear(without)).toMatchObject({ outcome: "storage" });
    await without.close();
    const next = await visit(await context.newPage(), site);
    expect(await fresh(next, ["a"])).toEqual(["a"]);
    await expect.poll(() => rows(next)).toEqual([]);
  });

  test("that is denied needs no clear, regardless of localStorage", async ({ page, site }) => {
    await refuseToOpen(page, "SecurityError");
    await visit(page, site);
    await record(page, ["a"]);
    await flush(page);
    expect(await clear(page)).toMatchObject({ outcome: "cleared" });
    expect(await rowsInLocalStorage(page)).toEqual([]);
  });

  test("because it never answers, rejects after ten seconds", async ({ context, site }) => {
    await pastVisit(context, site.origin, ["a"]);
    const page = await context.newPage();
    await page.addInitScript(() => {
      IDBFactory.prototype.open = () => ({}) as IDBOpenDBRequest;
    });
    await page.goto(site.origin);
    const { outcome, ms } = await clear(page);
    expect(outcome).toBe("storage");
    expect(ms).toBeGreaterThan(8_000);
    expect(ms).toBeLessThan(13_000);
    await page.close();
    const next = await visit(await context.newPage(), site);
    expect(await fresh(next, ["a"])).toEqual(["a"]);
  });
});

test("i6: another user's page completes a clear whose page died at once", async ({ context, site }) => {
  await pastVisit(context, site.origin, ["a"], "home:somebody");
  const dying = await context.newPage();
  await dying.goto(site.origin);
  await dying.evaluate(() => {
    // It gets no further than the signal.
    IDBFactory.prototype.open = () => ({}) as IDBOpenDBRequest;
    void Seenguard.SeenGuard.clear("home:somebody").catch(() => {});
  });
  await dying.close();
  const other = await visit(await context.newPage(), site);
  expect((await rows(other)).filter((key) => key.includes("somebody"))).toHaveLength(1);
  await expect.poll(async () => (await rows(other)).filter((key) => key.includes("somebody"))).toEqual([]);
});

test("i6: clear waits for no engine, and the guard that gets one later has nothing that was cleared", async ({
  context,
  site,
}) => {
  await pastVisit(context, site.origin, ["a"]);
  const page = await context.newPage();
  await page.addInitScript(() => {
    const instantiate = WebAssembly.instantiate.bind(WebAssembly) as (...given: unknown[]) => Promise<unknown>;
    const comes = new Promise<void>((resolve) => {
      addEventListener("engine", () => resolve());
    });
    Object.assign(WebAssembly, {
      instantiate: async (...given: unknown[]) => {
        await comes;
        return instantiate(...given);
      },
      instantiateStreaming: undefined,
    });
  });
  await page.goto(site.origin);
  const opening = openGuard(page);
  const { outcome, ms } = await clear(page);
  expect(outcome).toBe("cleared");
  expect(ms).toBeLessThan(2_000);
  expect(await rows(page)).toEqual([]);
  await page.evaluate(() => dispatchEvent(new Event("engine")));
  await opening;
  expect(await fresh(page, ["a"])).toEqual(["a"]);
  expect((await stats(page)).engine).toBe("wasm");
});

test("i6: a tab that receives no event of a clear neither reveals nor sends cleared impressions", async ({
  context,
  site,
}) => {
  const [clearing, other] = [await context.newPage(), await context.newPage()];
  await hearsNoEvent(other);
  for (const page of [clearing, other]) await visit(page, site);
  await report(other, { intervalMs: 1_500 });
  await record(other, ["cleared"]);
  expect((await clear(clearing)).outcome).toBe("cleared");
  await expect
    .poll(() => other.evaluate(() => localStorage.getItem("seenguard-signal/home:reader")))
    .not.toMatch(/^0{11}/);
  const said = await other.evaluate(() => ({
    pending: window.guard.pending(),
    list: window.guard.headers()["Seen-Pending"]?.split(".").at(-1),
  }));
  expect(said).toEqual({ pending: [], list: "" });
  await record(other, ["later"]);
  await expect.poll(() => site.delivered).toEqual(["later"]);
  await flush(other);
  await other.close();
  const next = await visit(await context.newPage(), site);
  expect(await fresh(next, ["cleared", "later"])).toEqual(["cleared"]);
});

test("i6: a batch that waits for the app's headers is given up by a clear, in this tab and in another", async ({
  context,
  site,
}) => {
  for (const where of ["this", "another"]) {
    const page = await visit(await context.newPage(), site);
    const asked = page.waitForEvent("console", (message) => message.text() === "asked for headers");
    await page.evaluate(() => {
      window.guard.report({
        url: "/impressions",
        intervalMs: 100,
        headers: () =>
          new Promise((resolve) => {
            console.info("asked for headers");
            addEventListener("headers", () => resolve({ authorization: "Bearer token" }), { once: true });
          }),
      });
    });
    await record(page, [`before the clear in ${where}`]);
    await asked;
    const clearing = where === "this" ? page : await context.newPage();
    if (clearing !== page) await clearing.goto(site.origin);
    expect((await clear(clearing)).outcome).toBe("cleared");
    await expect.poll(() => page.evaluate(() => window.guard.pending())).toEqual([]);
    await page.evaluate(() => dispatchEvent(new Event("headers")));
    await page.waitForTimeout(500);
    expect(site.deliveries).toEqual([]);
    await page.close();
  }
});

test("i6: a tab whose storage fails still receives another tab's clear", async ({ context, site }) => {
  const [clearing, failing] = [await context.newPage(), await context.newPage()];
  for (const page of [clearing, failing]) await visit(page, site);
  // Its first pass would move what the other has written into localStorage.
  await untilNamed(clearing);
  await failing.evaluate(() => {
    IDBDatabase.prototype.transaction = () => {
      throw new DOMException("broken", "UnknownError");
    };
  });
  await record(failing, ["a"]);
  await expect.poll(() => rowsInLocalStorage(failing)).toHaveLength(1);
  await expect.poll(() => codes(failing)).toEqual(["storage"]);
  expect((await clear(clearing)).outcome).toBe("cleared");
  await expect.poll(() => fresh(failing, ["a"])).toEqual(["a"]);
  await expect.poll(() => rowsInLocalStorage(clearing)).toEqual([]);
  await failing.close();
  const next = await visit(await context.newPage(), site);
  expect(await fresh(next, ["a"])).toEqual(["a"]);
});

test("a page that leaves in the task of its clear has cleared, and keeps later impressions", async ({ page, site }) => {
  await visit(page, site);
  await record(page, ["cleared"]);
  await flush(page);
  await page.evaluate((namespace) => {
    void Seenguard.SeenGuard.clear(namespace);
    window.guard.record("since the call");
    location.href = "/elsewhere";
  }, NAMESPACE);
  await page.waitForURL("**/elsewhere");
  await openGuard(page);
  expect(await fresh(page, ["cleared", "since the call"])).toEqual(["cleared"]);
  await page.waitForTimeout(2_500);
  await flush(page);
  expect(await rows(page)).toHaveLength(1);
});
