/** An extension in Chromium: its background, a page of it, and its script in a site's page. */
import { chromium } from "@playwright/test";
import { expect, onTestFinished } from "vitest";
import { chromiumArguments, programs } from "../../scripts/lib/programs.mjs";
import { expectOutcomes, outcomesOn, type Outcomes } from "./expectations.js";

/** @param site the address of a page that the extension has a script for */
export async function expectExtension(directory: string, site: string): Promise<void> {
  const context = await chromium.launchPersistentContext("", {
    executablePath: programs.chromium.find() ?? "",
    args: [...chromiumArguments, `--disable-extensions-except=${directory}`, `--load-extension=${directory}`],
    ignoreDefaultArgs: ["--disable-extensions"],
  });
  onTestFinished(() => context.close());
  const complaints: string[] = [];
  context.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  const background = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));

  const page = await context.newPage();
  await page.goto(new URL("/page.html", background.url()).href);
  expectOutcomes(await outcomesOn(page, complaints), { parts: ["page", "worker"] });

  await page.goto(site);
  const written = () => page.locator("body").innerText();
  await expect.poll(written).not.toBe("");
  expectOutcomes(JSON.parse(await written()) as Outcomes, { parts: ["page"] });
  expect(complaints).toEqual([]);
}
