/** Takes the picture of examples/news: `npx tsx docs/news-picture.ts` writes docs/news.png. Needs a Redis, and the built package. */
import { fileURLToPath } from "node:url";
import { chromium } from "@playwright/test";
import { chromiumArguments, programs } from "../scripts/lib/programs.mjs";
import { startProduct } from "../tests/news/product.ts";

const FILE = fileURLToPath(new URL("news.png", import.meta.url));

const product = await startProduct();
const browser = await chromium.launch({
  executablePath: programs.chromium.find() ?? "chromium",
  args: [...chromiumArguments],
});
try {
  const page = await browser.newPage({ viewport: { width: 880, height: 860 }, colorScheme: "light" });
  await page.goto(product.address);
  await page.getByLabel("Your name").fill("Ada");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("shared").first().waitFor();
  await page.mouse.move(0, 0);
  await page.screenshot({ path: FILE, animations: "disabled" });
} finally {
  await browser.close();
  await product.stop();
}
