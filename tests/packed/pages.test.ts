/** The installed package with its Wasm as a file of its own, bundled by Vite, in Chromium. */
import { join } from "node:path";
import { build } from "vite";
import { expect, inject, test } from "vitest";
import { openPage, serve } from "./chromium.js";
import { expectGuarded } from "./scenarios.js";

test.each([
  { file: "seenguard.wasm", query: "", scenario: "scenario.json" },
  { file: "formats.wasm", query: "?guava", scenario: "guava-scenario.json" },
] as const)("an app bundled by Vite with $file as a file of its own guards its feed", async (given) => {
  const root = join(inject("installed"), "vite-slim");
  await build({ root, configFile: false, logLevel: "warn", build: { target: "es2022", emptyOutDir: true } });
  const { page, complaints, requests } = await openPage(`${await serve(join(root, "dist"))}/${given.query}`);
  await page.waitForFunction(() => window.outcome !== undefined);
  expectGuarded(await page.evaluate(() => window.outcome), "indexeddb", given.scenario);
  expect(requests.map((url) => /(\w+)-[\w-]{8}\.wasm$/.exec(url)?.[1]).filter(Boolean)).toEqual([
    given.file.replace(".wasm", ""),
  ]);
  expect(complaints).toEqual([]);
});
