/**
 * Takes a picture of the documentation, of the built package in the system's Chromium:
 *
 *     npx tsx docs/picture.ts demo     docs/demo.png: the demo in memory. A user looks at items and refreshes, first while
 *                                      the stream runs, then while it is stopped, and opens why an item was stopped
 *     npx tsx docs/picture.ts panel    docs/panel.png: the panel of docs/debugging.md
 *     npx tsx docs/picture.ts news     docs/news.png: examples/news, which needs a Redis
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "@playwright/test";
import type { SeenGuard, Snapshot } from "seenguard";
import { ShardChain } from "seenguard/server";
import { chromiumArguments, programs } from "../scripts/lib/programs.mjs";
import { showWhy } from "../tests/demo/reader.ts";
import { startProduct } from "../tests/news/product.ts";
import { startDemo } from "../tests/support/processes.ts";

declare const guard: SeenGuard;

const pictures: Readonly<Record<string, (browser: Browser, path: string) => Promise<void>>> = { demo, news, panel };
const MOST_BYTES = 200_000;
const DWELL_MS = 400;
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

const [name = ""] = process.argv.slice(2);
const take = pictures[name];
if (take === undefined) throw new Error(`which picture: ${Object.keys(pictures).join(", ")}?`);
const browser = await chromium.launch({
  executablePath: programs.chromium.find() ?? "chromium",
  args: [...chromiumArguments],
});
try {
  await take(browser, fileURLToPath(new URL(`${name}.png`, import.meta.url)));
} finally {
  await browser.close();
}

async function demo(browser: Browser, path: string): Promise<void> {
  const demo = await startDemo();
  try {
    const page = await browser.newPage({ viewport: { width: 1152, height: 752 }, colorScheme: "light" });
    await page.goto(`${demo.url}?user=picture&dwell=${String(DWELL_MS)}`);
    await settled(page);
    await page.getByRole("slider", { name: "Lag" }).fill("0");
    await lookAndRefresh(page, 2);
    await page.getByRole("slider", { name: "Lag" }).fill("60");
    await page.getByRole("switch", { name: "The stream" }).setChecked(false);
    await lookAndRefresh(page, 4);
    await showWhy(page);
    await page.mouse.move(0, 0);
    await page.evaluate(() => {
      scrollTo({ top: 0, behavior: "instant" });
      (document.activeElement as HTMLElement | null)?.blur();
    });
    const picture = await page.screenshot({ path, animations: "disabled" });
    if (picture.length > MOST_BYTES) throw new Error(`${String(picture.length)} bytes are too many for a README`);
  } finally {
    await demo.stop();
  }
}

async function settled(page: Page): Promise<void> {
  await page.locator("#feeds:not([aria-busy]) .block").first().waitFor({ state: "attached" });
}

async function lookAndRefresh(page: Page, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    await lookAtEverything(page);
    await page.getByRole("button", { name: "Refresh both feeds" }).click();
    await settled(page);
  }
}

/** Scrolls to the end of the list, screen by screen. */
async function lookAtEverything(page: Page): Promise<void> {
  for (let screen = 0; screen < 3; screen++) {
    await page.evaluate((top) => {
      scrollTo({ top, behavior: "instant" });
    }, screen * 500);
    await page.waitForTimeout(2.5 * DWELL_MS);
  }
}

async function news(browser: Browser, path: string): Promise<void> {
  const product = await startProduct();
  try {
    const page = await browser.newPage({ viewport: { width: 880, height: 860 }, colorScheme: "light" });
    await page.goto(product.address);
    await page.getByLabel("Your name").fill("Ada");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("shared").first().waitFor();
    await page.mouse.move(0, 0);
    await page.screenshot({ path, animations: "disabled" });
  } finally {
    await product.stop();
  }
}

async function panel(browser: Browser, path: string): Promise<void> {
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
  await page.screenshot({ path, fullPage: true });
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
