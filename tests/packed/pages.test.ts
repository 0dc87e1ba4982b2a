/** The installed package on real pages in Chromium, bundled by Vite. tests/bundlers has other tools, and no tool. */
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { build } from "vite";
import { expect, inject, test } from "vitest";
import type { Outcome } from "./apps/scenario.js";
import { openPage, serve } from "./chromium.js";
import { expectGuarded, expectRefused } from "./scenarios.js";

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

test("under script-src 'self' 'wasm-unsafe-eval' the guard works", async () => {
  const { page, complaints } = await openPage(
    await serve(await bundleApp("vite"), "script-src 'self' 'wasm-unsafe-eval'"),
  );
  expectGuarded(await outcomeOn(page), "indexeddb");
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
