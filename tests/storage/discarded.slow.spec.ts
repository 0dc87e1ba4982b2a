/** A tab that the browser has discarded, as when memory is short, and that is activated again. */
import { mkdir, writeFile } from "node:fs/promises";
import type { BrowserContext, Page } from "@playwright/test";
import { codes, expect, flush, openGuard, record, test as base, visit } from "../support/pages.js";

/** An extension may discard tabs; this one does nothing else. */
const manifest = {
  manifest_version: 3,
  name: "discards",
  version: "1",
  background: { service_worker: "background.js" },
};
declare const chrome: {
  tabs: {
    query(which: { active?: boolean; discarded?: boolean }): Promise<{ id: number }[]>;
    discard(id: number): Promise<unknown>;
    update(id: number, changes: { active: boolean }): Promise<unknown>;
  };
};

const test = base.extend<{ discarding: BrowserContext }>({
  discarding: async ({ playwright, launchOptions }, use, testInfo) => {
    const directory = testInfo.outputPath("extension");
    await mkdir(directory, { recursive: true });
    await writeFile(`${directory}/manifest.json`, JSON.stringify(manifest));
    await writeFile(`${directory}/background.js`, "");
    const context = await playwright.chromium.launchPersistentContext("", {
      ...launchOptions,
      args: [...(launchOptions.args ?? []), `--load-extension=${directory}`],
      ignoreDefaultArgs: ["--disable-extensions"],
    });
    await use(context);
    await context.close();
  },
});

/** Discards a tab while the context's first one is active, and activates it again. Returns its new page. */
async function discard(context: BrowserContext, page: Page): Promise<Page> {
  const background = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
  await context.pages()[0]?.bringToFront();
  const gone = page.waitForEvent("close");
  await background.evaluate(async () => {
    for (const { id } of await chrome.tabs.query({ active: false })) await chrome.tabs.discard(id);
  });
  await gone;
  const opening = context.waitForEvent("page");
  await background.evaluate(async () => {
    for (const { id } of await chrome.tabs.query({ discarded: true })) await chrome.tabs.update(id, { active: true });
  });
  const back = await opening;
  await back.waitForFunction(() => "Seenguard" in window);
  return back;
}

const shownOf = (page: Page, ids: readonly string[]) =>
  page.evaluate((ids) => window.guard.feed({ key: "home" }).filter(ids), ids);

test("i4: a list with a key has its fresh ids when its discarded tab is activated again", async ({
  discarding,
  site,
}) => {
  const page = await visit(await discarding.newPage(), site);
  await record(page, ["seen"]);
  expect(await shownOf(page, ["a", "b", "seen"])).toEqual(["a", "b"]);
  await record(page, ["a"]);
  await flush(page);
  const back = await discard(discarding, page);
  await openGuard(back);
  expect(await back.evaluate(() => "wasDiscarded" in document && document.wasDiscarded)).toBe(true);
  expect(await shownOf(back, ["a", "b", "seen", "new"])).toEqual(["a", "b", "new"]);
  expect(await codes(back)).toEqual([]);
});
