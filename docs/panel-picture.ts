/** Takes the picture of docs/debugging.md: `npx tsx docs/panel-picture.ts` writes docs/panel.png. Needs the built package. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "@playwright/test";
import type { SeenGuard, Snapshot } from "seenguard";
import { ShardChain } from "seenguard/server";
import { chromiumArguments, programs } from "../scripts/lib/programs.mjs";

declare const guard: SeenGuard;

const FILE = fileURLToPath(new URL("panel.png", import.meta.url));
const SITE = "https://feed.test/";
const SECONDS = 240;
const HTML = `<!doctype html><html lang="en"><meta charset="utf-8"><body style="margin: 16px; background: #f4f6f8">
<seenguard-panel label="home:ada" open></seenguard-panel>
<script type="module">
  import "/devtools.js";
  import { SeenGuard } from "/index.js";
  globalThis.guard = await SeenGuard.open({ namespace: "home:ada" });
  document.querySelector("seenguard-panel").guard = guard;
</script>`;

const browser = await chromium.launch({
  executablePath: programs.chromium.find() ?? "chromium",
  args: [...chromiumArguments],
});
try {
  const page = await browser.newPage({ viewport: { width: 480, height: 900 }, deviceScaleFactor: 1.5 });
  await page.route(`${SITE}**`, (route) => {
    const { pathname } = new URL(route.request().url());
    if (!pathname.endsWith(".js")) return route.fulfill({ contentType: "text/html", body: HTML });
    const body = readFileSync(new URL(`../dist${pathname}`, import.meta.url));
    return route.fulfill({ contentType: "text/javascript", body });
  });
  await page.clock.install({ time: new Date("2026-01-01T12:00:00Z") });
  await page.goto(SITE);
  await page.waitForFunction("globalThis.guard !== undefined");
  await read(page);
  await page.screenshot({ path: FILE, fullPage: true });
} finally {
  await browser.close();
}

/** A person reads an article every ten seconds; a stream of 20 s of lag tells the server, until it stops. */
async function read(page: Page): Promise<void> {
  const chain = await ShardChain.create();
  chain.record(["story-3", "story-8"]);
  for (let second = 0; second < SECONDS; second++) {
    const article = second / 10;
    if (Number.isInteger(article)) await page.evaluate((id) => guard.record(id), `article-${String(article + 1)}`);
    if (Number.isInteger(article) && article > 1 && article < 14) chain.record(`article-${String(article - 1)}`);
    if (second % 15 === 0) await page.evaluate((snapshot) => guard.apply(snapshot), chain.snapshot() as Snapshot);
    await page.clock.runFor(1000);
  }
  await page.evaluate(() => {
    guard.filter(["story-1", "story-2", "story-3", "article-9", "article-20", "article-21", "story-4", "story-4"]);
  });
  await page.clock.runFor(1000);
}
