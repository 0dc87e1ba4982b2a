/** A guard on pages without WebAssembly: with the JavaScript engine as its fallback everything works as ever. */
import { readFileSync } from "node:fs";
import type { BrowserContext, Page } from "@playwright/test";
import { codes, expect, fresh, openGuard, record, SITE, test } from "../support/chromium.js";

const FILES =
  /^(index|index\.bundle|errors|client-wasm|shared-\w+|engine-js|seenguard\.iife|seenguard-engine-js\.iife)\.js$/;
const MODULE_PAGE = '<!doctype html><title>A feed</title><script type="module" src="/app.js"></script>';
const SCRIPT_PAGE = `<!doctype html><title>A feed</title><script src="/seenguard.iife.js"></script>
<script src="/seenguard-engine-js.iife.js"></script>`;

/** Serves a page with the package's files. `policy`: its Content-Security-Policy. Returns what is asked for. */
async function serve(context: BrowserContext, html: string, policy: string): Promise<string[]> {
  const requests: string[] = [];
  await context.route(`${SITE}/**`, async (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    requests.push(`${name}${route.request().postData() ?? ""}`);
    if (name === "") {
      const headers = { "content-security-policy": policy };
      await route.fulfill({ contentType: "text/html", body: html, headers });
    } else if (name === "app.js") {
      // The tests open their guards as on any other page.
      const body = `import { SeenGuard } from "/index.js";
        const fallback = () => import("/engine-js.js");
        const open = (options) => SeenGuard.open({ fallback, ...options });
        globalThis.Seenguard = { SeenGuard: { open } };`;
      await route.fulfill({ contentType: "text/javascript", body });
    } else if (FILES.test(name)) {
      const body = readFileSync(new URL(`../../dist/${name}`, import.meta.url));
      await route.fulfill({ contentType: "text/javascript", body });
    } else await route.fulfill({ status: 204 });
  });
  return requests;
}

async function openPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${SITE}/`);
  await page.waitForFunction(() => "Seenguard" in window);
  await openGuard(page);
  return page;
}

/** Records, delivers, reloads: as any reader's page does. */
async function expectWorking(page: Page, requests: string[], engine: "js" | "wasm"): Promise<void> {
  expect(await page.evaluate(() => window.guard.stats().engine)).toBe(engine);
  await page.evaluate(() => window.guard.report({ url: "/seen", intervalMs: 50 }));
  await record(page, ["a", "ü"]);
  expect(await fresh(page, ["a", "b", "ü", "b"])).toEqual(["b"]);
  await expect.poll(() => requests.join()).toMatch(/seen\{.*"id":"a".*"id":"ü"/);
  expect(await codes(page)).toEqual([]);
  await page.reload();
  await page.waitForFunction(() => "Seenguard" in window);
  await openGuard(page);
  expect(await fresh(page, ["a", "b", "ü"])).toEqual(["b"]);
}

for (const [what, html] of Object.entries({ "an ES module": MODULE_PAGE, "a second script tag": SCRIPT_PAGE })) {
  test.describe(`with the engine as ${what}, a guard works`, () => {
    test("under script-src 'self', which forbids Wasm", async ({ context }) => {
      const requests = await serve(context, html, "script-src 'self'");
      await expectWorking(await openPage(context), requests, "js");
    });

    test("in a browser without WebAssembly, as in Lockdown Mode", async ({ context }) => {
      await context.addInitScript(() => Reflect.deleteProperty(globalThis, "WebAssembly"));
      const requests = await serve(context, html, "script-src 'self'");
      await expectWorking(await openPage(context), requests, "js");
    });
  });
}

test("where Wasm is allowed, the JavaScript engine is not fetched", async ({ context }) => {
  const requests = await serve(context, MODULE_PAGE, "script-src 'self' 'wasm-unsafe-eval'");
  await expectWorking(await openPage(context), requests, "wasm");
  expect(requests.filter((name) => name.startsWith("engine-js"))).toEqual([]);
});

test("an engine that cannot be fetched is fetched again by the next to open", async ({ context }) => {
  const requests = await serve(context, MODULE_PAGE, "script-src 'self'");
  let isDown = true;
  await context.route(`${SITE}/engine-js.js`, (route) => (isDown ? route.abort() : route.fallback()));
  const page = await openPage(context);
  expect(await codes(page)).toEqual(["engine"]);
  expect(await fresh(page, ["a", "a"])).toEqual(["a"]);
  isDown = false;
  await openGuard(page);
  await expectWorking(page, requests, "js");
});
