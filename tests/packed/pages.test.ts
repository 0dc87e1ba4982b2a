/**
 * The installed package on real pages in Chromium: bundled, from a plain script tag, under a content security policy,
 * in React.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "@playwright/test";
import { build, createServer } from "vite";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { runScenario, type Outcome } from "./apps/scenario.js";
import { openPage, serve } from "./chromium.js";
import { expectGuarded, expectRefused, readScenario } from "./scenarios.js";

test("an app bundled by Vite guards its feed", async () => {
  const { page, complaints } = await openPage(await serve(await bundleApp("vite")));
  expectGuarded(await outcomeOn(page), "indexeddb");
  expect(complaints).toEqual([]);
});

test("an app bundled by Vite with the Wasm module as a file of its own guards its feed", async () => {
  const { page, complaints, requests } = await openPage(await serve(await bundleApp("vite-slim")));
  expectGuarded(await outcomeOn(page), "indexeddb");
  expect(requests.filter((url) => url.endsWith(".wasm"))).toHaveLength(1);
  expect(complaints).toEqual([]);
});

test("an app bundled by Vite loads one script, with the module in it", async () => {
  const { page, requests } = await openPage(await serve(await bundleApp("vite")));
  expectGuarded(await outcomeOn(page), "indexeddb");
  expect(requests.filter((url) => /\.(js|wasm)$/.test(url))).toHaveLength(1);
});

test("an app bundled by Vite refuses what it cannot read, and goes on; with seenguard/formats it can", async () => {
  const lean = await openPage(`${await serve(await bundleApp("vite"))}/?guava`);
  expectRefused(await outcomeOn(lean.page), "indexeddb");
  const full = await openPage(await serve(await bundleApp("vite-formats")));
  expectGuarded(await outcomeOn(full.page), "indexeddb", "guava-scenario.json");
  expect(full.complaints).toEqual([]);
});

test("the same with formats.wasm as a file of its own", async () => {
  const { page, complaints, requests } = await openPage(`${await serve(await bundleApp("vite-slim"))}/?guava`);
  expectGuarded(await outcomeOn(page), "indexeddb", "guava-scenario.json");
  expect(requests.filter((url) => /formats.*\.wasm$/.test(url))).toHaveLength(1);
  expect(complaints).toEqual([]);
});

test("a plain page with a script tag guards its feed, opened as a file", async () => {
  const url = pathToFileURL(join(inject("installed"), "script-tag/index.html")).href;
  const { page, complaints } = await openPage(url);
  const script = `(${runScenario.toString()})(Seenguard, ${JSON.stringify(readScenario())}, { storage: "local" })`;
  expectGuarded(await page.evaluate<Outcome>(script), "local");
  expect(complaints).toEqual([]);
});

test("under script-src 'self' the page guards its feed, by the JavaScript engine", async () => {
  const { page, requests } = await openPage(await serve(await bundleApp("vite"), "script-src 'self'"));
  expectGuarded(await outcomeOn(page), "indexeddb", "scenario.json", { engine: "js" });
  expect(requests.filter((url) => url.endsWith(".js"))).toHaveLength(2);
});

test("under script-src 'self' 'wasm-unsafe-eval' the guard works", async () => {
  const { page, complaints } = await openPage(
    await serve(await bundleApp("vite"), "script-src 'self' 'wasm-unsafe-eval'"),
  );
  expectGuarded(await outcomeOn(page), "indexeddb");
  expect(complaints).toEqual([]);
});

test("i4: a list in React under StrictMode survives double rendering and refetching", async () => {
  const { page, complaints } = await openPage(await serveForDevelopment("react"));
  const shown = () => page.locator("li").allTextContents();
  const { fresh } = readScenario();
  const [first, second] = [fresh.slice(0, 8), fresh.slice(8, 16)];
  await vi.waitFor(async () => expect(await shown()).toEqual(first), { timeout: 20_000 });

  // StrictMode is at work, and looking at the list has made all of it seen.
  expect(await page.evaluate(() => window.fetches)).toBe(2);
  expect(await page.evaluate(() => window.renders)).toBeGreaterThanOrEqual(4);
  await vi.waitFor(async () => expect(await page.evaluate(() => window.guard.pending().length)).toBe(8));
  expect(await shown()).toEqual(first);

  const rendersBefore = await page.evaluate(() => window.renders);
  await page.getByRole("button", { name: "Fetch again" }).click();
  await vi.waitFor(async () => expect(await page.evaluate(() => window.renders)).toBeGreaterThan(rendersBefore));
  expect(await shown()).toEqual(first);

  await page.getByRole("button", { name: "New list" }).click();
  await vi.waitFor(async () => expect(await shown()).toEqual(second));
  expect(complaints).toEqual([]);
});

async function outcomeOn(page: Page): Promise<Outcome | undefined> {
  await page.waitForFunction(() => window.outcome !== undefined);
  return page.evaluate(() => window.outcome);
}

/** Returns the directory that a server would serve. */
async function bundleApp(app: string): Promise<string> {
  const root = join(inject("installed"), app);
  await build({ root, configFile: false, logLevel: "warn", build: { target: "es2022", emptyOutDir: true } });
  return join(root, "dist");
}

/** Serves an app as while it is written, so with the React that looks for mistakes. */
async function serveForDevelopment(app: string): Promise<string> {
  const root = join(inject("installed"), app);
  const server = await createServer({
    root,
    configFile: false,
    logLevel: "warn",
    server: { port: 0, host: "127.0.0.1" },
  });
  await server.listen();
  onTestFinished(() => server.close());
  return server.resolvedUrls?.local[0] ?? "";
}
