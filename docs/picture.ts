/**
 * Takes the README's picture of the demo: `npx tsx docs/picture.ts` writes docs/demo.png.
 *
 * It runs the demo in memory, in the system's Chromium at a desktop's width. A user looks at items and refreshes, first
 * while the stream runs, then while it is stopped, and asks why an item was stopped.
 */
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "@playwright/test";
import { chromiumArguments, programs } from "../scripts/lib/programs.mjs";
import { startDemo } from "../tests/support/processes.ts";

const FILE = fileURLToPath(new URL("demo.png", import.meta.url));
const MOST_BYTES = 200_000;
const DWELL_MS = 400;

const demo = await startDemo();
const browser = await chromium.launch({
  executablePath: programs.chromium.find() ?? "chromium",
  args: [...chromiumArguments],
});
try {
  const page = await browser.newPage({ viewport: { width: 1152, height: 752 }, colorScheme: "light" });
  await page.goto(`${demo.url}?user=picture&dwell=${String(DWELL_MS)}`);
  await settled(page);
  await page.getByRole("slider", { name: "Lag" }).fill("0");
  await lookAndRefresh(page, 2);
  await page.getByRole("slider", { name: "Lag" }).fill("60");
  await page.getByRole("switch", { name: "The stream" }).setChecked(false);
  await lookAndRefresh(page, 4);
  await page
    .getByText(/^\d+ stopped$/)
    .first()
    .click();
  await page
    .getByRole("button", { name: /Why\?$/ })
    .first()
    .click();
  await page.mouse.move(0, 0);
  await page.evaluate(() => {
    scrollTo({ top: 0, behavior: "instant" });
    (document.activeElement as HTMLElement | null)?.blur();
  });
  const picture = await page.screenshot({ path: FILE, animations: "disabled" });
  if (picture.length > MOST_BYTES) throw new Error(`${String(picture.length)} bytes are too many for a README`);
} finally {
  await browser.close();
  await demo.stop();
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
