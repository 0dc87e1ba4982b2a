/** A guard on a page: without an engine under a strict policy, and its fetch. */
import type { Page } from "@playwright/test";
import { codes, expect, fresh, openGuard, record, test } from "../support/chromium.js";

async function expectEverythingPasses(page: Page): Promise<void> {
  expect(await codes(page)).toEqual(["engine"]);
  await record(page, ["a"]);
  expect(await fresh(page, ["a", "b", "a"])).toEqual(["a", "b"]);
  const said = await page.evaluate(() => ({
    applied: window.guard.apply({ version: 1, shards: [] }),
    feed: window.guard.feed().filter(["a", "a", "b"]),
    engine: window.guard.stats().engine,
  }));
  expect(said).toMatchObject({ applied: { applied: false, reason: "no-engine" }, feed: ["a", "b"], engine: "none" });
  expect(await codes(page)).toEqual(["engine"]);
}

test.describe("under a Content-Security-Policy that forbids compiling", () => {
  test.use({ headers: { "content-security-policy": "script-src 'self'" } });

  test("i5: everything passes, as without the second script tag, which is reported once", async ({ reader }) => {
    const page = await reader.openPage();
    const uncaught: string[] = [];
    page.on("pageerror", ({ message }) => uncaught.push(message));
    await openGuard(page);
    await expectEverythingPasses(page);
    expect(uncaught).toEqual([]);
  });
});

test.describe("fetch in place of window.fetch", () => {
  test("sends a request again without the headers to a host that refuses the preflight, each time", async ({
    reader,
  }) => {
    const page = await reader.openGuardedPage();
    const methods: string[] = [];
    const api = "https://api.test";
    await page.route(`${api}/**`, async (route) => {
      const request = route.request();
      methods.push(request.method());
      const isRefused = "seen-pending" in (await request.allHeaders());
      if (isRefused) await route.abort("failed");
      else await route.fulfill({ json: [], headers: { "access-control-allow-origin": "*" } });
    });
    const answers = await page.evaluate(async (address) => {
      // The pending ids are in a header.
      window.guard.record("a");
      const guarded = window.guard.fetch({ match: new URL(address) });
      return [await (await guarded(`${address}/1`)).json(), await (await guarded(`${address}/2`)).json()] as unknown[];
    }, api);
    expect(answers).toEqual([[], []]);
    expect(methods.filter((method) => method === "GET")).toHaveLength(4);
  });
});
