/** docs/start.md as a newcomer follows it: its files unchanged, served by Node, opened in Chromium. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { chromium, type Browser, type Page } from "@playwright/test";
import type { SeenGuard } from "seenguard";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { freePort } from "../../scripts/lib/processes.mjs";
import { chromiumArguments, programs } from "../../scripts/lib/programs.mjs";
import { examples, exampleWith, root } from "./examples.ts";

declare const guard: SeenGuard;

const app = `${root}target/docs/start/`;
const INGEST = /^.*store\.ingest.*\n/m;
const SOON = { timeout: 30_000, interval: 50 };

let browser: Browser;
beforeAll(async () => {
  rmSync(app, { recursive: true, force: true });
  for (const { kind, code } of examples.filter(({ kind }) => kind.includes(" start/"))) {
    const [, path = ""] = kind.split(" start/");
    mkdirSync(dirname(app + path), { recursive: true });
    writeFileSync(app + path, code);
  }
  mkdirSync(`${app}node_modules`);
  symlinkSync(root, `${app}node_modules/seenguard`, "dir");
  symlinkSync(`${root}node_modules/express`, `${app}node_modules/express`, "dir");
  writeFileSync(`${app}package.json`, '{ "private": true, "type": "module" }');
  browser = await chromium.launch({
    executablePath: programs.chromium.find() ?? "chromium",
    args: [...chromiumArguments],
  });
});
afterAll(() => browser.close());

async function startServer(port: number): Promise<() => Promise<unknown>> {
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, ["server.js"], { cwd: app, env, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  await vi.waitFor(() => fetch(`http://127.0.0.1:${String(port)}/api/feed`), SOON);
  return () => (child.kill(), ended);
}

const shown = (page: Page) => page.locator("li").allTextContents();
const articles = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `article-${String(from + index)}`);
const seen = (page: Page, id: string) => page.evaluate((id) => guard.explain(id).seen, id);

test("the feed shows nothing twice, with and without a stream", async () => {
  const port = await freePort();
  const address = `http://127.0.0.1:${String(port)}`;
  let stop = await startServer(port);
  const page = await browser.newPage({ viewport: { width: 800, height: 600 } });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  const reported = page.waitForResponse("**/api/feed/seen");
  await page.goto(address);
  await vi.waitFor(async () => expect(await shown(page)).toEqual(articles(1, 10)), SOON);
  await vi.waitFor(async () => expect(await seen(page, "article-1")).toBe(true), SOON);
  expect(await seen(page, "article-9")).toBe(false);
  expect((await reported).status()).toBe(204);

  await page.getByRole("button", { name: "Refresh" }).click();
  await vi.waitFor(async () => expect((await shown(page)).length).toBeGreaterThanOrEqual(10), SOON);
  const fresh = await shown(page);
  expect(fresh).not.toContain("article-1");
  expect(fresh).toContain("article-9");
  expect(await page.evaluate(() => guard.explain("article-1"))).toMatchObject({ by: "device" });

  // A private window gets items that no device has shown.
  const context = await browser.newContext();
  const other = await context.newPage();
  await other.goto(address);
  await vi.waitFor(async () => expect((await shown(other)).length).toBeGreaterThanOrEqual(10), SOON);
  expect(await shown(other)).not.toContain("article-1");
  await context.close();
  await stop();

  // Without a stream, and with a server whose store is empty.
  const { code } = exampleWith("js start/server.js", "memoryStore");
  expect(code).toMatch(INGEST);
  writeFileSync(`${app}server.js`, code.replace(INGEST, ""));
  stop = await startServer(port);
  await page.reload();
  await vi.waitFor(async () => expect((await shown(page)).length).toBeGreaterThanOrEqual(10), SOON);
  expect(await shown(page)).not.toContain("article-1");
  expect(errors).toEqual([]);
  await page.close();
  await stop();
});
