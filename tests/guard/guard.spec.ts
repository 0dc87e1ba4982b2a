/** A guard on a page: without an engine, opened twice, closed, and its fetch. */
import type { Page } from "@playwright/test";
import { codes, expect, fresh, NAMESPACE, openGuard, record, test } from "../support/chromium.js";

/** Uncaught errors of a page, as they come. */
function uncaughtOf(page: Page): string[] {
  const messages: string[] = [];
  page.on("pageerror", ({ message }) => messages.push(message));
  return messages;
}

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

test.describe("without an engine, as without the second script tag, everything passes, which is reported once:", () => {
  test("i5: where there is no WebAssembly", async ({ reader }) => {
    await reader.context.addInitScript(() => Reflect.deleteProperty(globalThis, "WebAssembly"));
    const page = await reader.openPage();
    const uncaught = uncaughtOf(page);
    await openGuard(page);
    await expectEverythingPasses(page);
    await page.evaluate(() => window.guard.close());
    expect(uncaught).toEqual([]);
  });

  test.describe("under a strict Content-Security-Policy", () => {
    test.use({ headers: { "content-security-policy": "script-src 'self'" } });

    test("i5: which forbids compiling", async ({ reader }) => {
      const page = await reader.openPage();
      const uncaught = uncaughtOf(page);
      await openGuard(page);
      await expectEverythingPasses(page);
      expect(uncaught).toEqual([]);
    });
  });
});

test.describe("in one document", () => {
  test("i6: opening, closing and opening at once, as StrictMode does, is one guard that works and keeps", async ({
    reader,
  }) => {
    const page = await reader.openPage();
    const uncaught = uncaughtOf(page);
    const result = await page.evaluate(async (namespace) => {
      const codes: string[] = [];
      const open = () =>
        window.Seenguard.SeenGuard.open({ namespace, onError: ({ code }: { code: string }) => codes.push(code) });
      const first = open();
      const closing = first.then((guard) => guard.close());
      const second = await open();
      await closing;
      second.record("a");
      const seen = second.explain("a").seen;
      await second.close();
      const third = await open();
      return { seen, kept: third.filter(["a", "b"]), codes };
    }, NAMESPACE);
    expect(result).toEqual({ seen: true, kept: ["b"], codes: [] });
    expect(uncaught).toEqual([]);
  });
});

test.describe("fetch in place of window.fetch", () => {
  test("sends a request again without the headers to a host that refuses the preflight, each time", async ({ reader }) => {
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
      // What is pending is in a header.
      window.guard.record("a");
      const guarded = window.guard.fetch({ match: new URL(address) });
      return [await (await guarded(`${address}/1`)).json(), await (await guarded(`${address}/2`)).json()] as unknown[];
    }, api);
    expect(answers).toEqual([[], []]);
    expect(methods.filter((method) => method === "GET")).toHaveLength(4);
  });
});
