/**
 * The example of Capacitor's Preferences in docs/hybrid.md, word for word, over the real @capacitor/preferences (its web implementation) in
 * Chromium.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test as base, type Page } from "@playwright/test";
import { build } from "esbuild";
import type { SeenGuard as Guard, SeenStorage } from "seenguard";
import { Site } from "../support/site.js";
import { exampleWith } from "../docs/examples.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

declare global {
  interface Window {
    /** The exports of the bundled example and the package. */
    app: {
      openGuard: (userId: string) => Promise<Guard>;
      storage: SeenStorage;
      SeenGuard: typeof Guard;
    };
    opened: Guard;
  }
}

/** The example's code, with its storage exported for the test. */
const readExample = () => `${exampleWith("ts", "@capacitor/preferences").code}\nexport { SeenGuard, storage };\n`;

async function bundleExample(): Promise<string> {
  // Inside the project, so that its imports are found.
  const directory = await mkdtemp(join(root, "node_modules", ".seenguard-capacitor-"));
  try {
    const entry = join(directory, "example.ts");
    await writeFile(entry, readExample());
    const { outputFiles } = await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      outdir: directory,
      format: "esm",
      // Plugins of Capacitor load their web implementation when it is needed.
      splitting: true,
      alias: { seenguard: join(root, "dist/index.js") },
      logLevel: "silent",
    });
    const [main] = outputFiles.filter(({ path }) => path.endsWith("example.js"));
    if (main === undefined) throw new Error("esbuild wrote no bundle");
    const parts = outputFiles.map(({ path, text }) => [path.slice(directory.length + 1), text] as const);
    return JSON.stringify(Object.fromEntries(parts));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const test = base.extend<{ site: Site }, { bundle: string }>({
  bundle: [
    async ({}, use) => {
      await use(await bundleExample());
    },
    { scope: "worker" },
  ],
  site: async ({ page, bundle }, use) => {
    const site = await Site.start();
    const parts = JSON.parse(bundle) as Record<string, string>;
    site.documents.set(
      "/",
      '<!doctype html><meta charset="utf-8"><title>App</title><script type="module">import * as app from "/app/example.js"; window.app = app;</script>',
    );
    await page.route("**/app/*", (route) => {
      const body = parts[new URL(route.request().url()).pathname.slice("/app/".length)];
      return body === undefined
        ? route.fulfill({ status: 404 })
        : route.fulfill({ contentType: "text/javascript", body });
    });
    await use(site);
    await site.close();
  },
});

async function start(page: Page, site: Site, userId = "1"): Promise<void> {
  await page.goto(site.origin);
  await page.waitForFunction(() => "app" in window);
  await page.evaluate(async (userId) => {
    window.opened = await window.app.openGuard(userId);
  }, userId);
}

const filter = (page: Page, ids: string[]) => page.evaluate((ids) => window.opened.filter(ids), ids);

test("an app with Capacitor's Preferences stops its impressions after a restart", async ({ page, site }) => {
  await start(page, site);
  expect(await page.evaluate(() => window.opened.stats().storage)).toBe("custom");
  for (let number = 0; number < 40; number++) {
    await page.evaluate((id) => window.opened.record(id), `id-${String(number)}`);
    await page.evaluate(() => window.opened.flush());
  }
  const ids = Array.from({ length: 40 }, (_, number) => `id-${String(number)}`);
  for (let again = 0; again < 3; again++) {
    await start(page, site);
    expect(await filter(page, [...ids, "new"])).toEqual(["new"]);
    expect(await page.evaluate(() => window.opened.stats().pending)).toBe(40);
  }
  const keys = await page.evaluate(() => window.app.storage.keys("seenguard/"));
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.length).toBeLessThanOrEqual(32);
  expect(keys.every((key) => key.startsWith("seenguard/"))).toBe(true);
  // It is the plugin's own store, which on the web is localStorage under a prefix. The rest is the signal to other tabs.
  const others = () => Object.keys(localStorage).filter((key) => !key.startsWith("CapacitorStorage."));
  expect(await page.evaluate(others)).toEqual(["seenguard-signal/home:1"]);
  expect(await page.evaluate(async () => (await indexedDB.databases()).length)).toBe(0);
});

test("signing out clears a person's values and leaves the others", async ({ page, site }) => {
  await start(page, site, "2");
  await page.evaluate(() => window.opened.record("of another"));
  await page.evaluate(() => window.opened.close());
  await start(page, site);
  await page.evaluate(async () => {
    localStorage.setItem("CapacitorStorage.theme", "dark");
    window.opened.record("a");
    await window.opened.flush();
    await window.app.SeenGuard.clear("home:1", window.app.storage);
  });
  expect(await filter(page, ["a"])).toEqual(["a"]);
  await start(page, site);
  expect(await filter(page, ["a"])).toEqual(["a"]);
  await start(page, site, "2");
  expect(await filter(page, ["of another"])).toEqual([]);
  expect(await page.evaluate(() => window.app.storage.get("theme"))).toBe("dark");
});
