/** The results that each app must have, on a page, from a server or in a test of its own. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium, type Page } from "@playwright/test";
import { expect, onTestFinished } from "vitest";
import type { Report } from "../../js/types/seenguard.js";
import { chromiumArguments, programs } from "../../scripts/lib/programs.mjs";
import type { Outcome } from "../packed/apps/scenario.js";
import { newPage } from "../packed/chromium.js";
import { expectGuarded, expectServed, readScenario, type ServerOutcome } from "../packed/scenarios.js";

/** The package's engines and entries that a page tries, in the page and in a worker of it. */
export type Part = "page" | "engine-js" | "formats" | "formats-engine-js" | "worker";

export type Outcomes = Partial<Record<Part, Outcome>>;

export interface Expected {
  /** @default all but worker */
  readonly parts?: readonly Part[];
  /** @default "indexeddb" */
  readonly storage?: Outcome["storage"];
  /** @default "wasm" */
  readonly engine?: Outcome["engine"];
  /** Codes of `onError`. @default [] */
  readonly errors?: Outcome["errors"];
}

declare global {
  interface Window {
    outcomes?: Outcomes;
  }
}

export const PAGE_PARTS = ["page", "engine-js", "formats", "formats-engine-js"] as const;

export function expectOutcomes(outcomes: Outcomes, expected: Expected = {}): void {
  const { parts = PAGE_PARTS, storage = "indexeddb", engine = "wasm", errors = [] } = expected;
  for (const part of parts) {
    const file = part.startsWith("formats") ? "guava-scenario.json" : "scenario.json";
    expectGuarded(outcomes[part], storage, file, { engine: part.endsWith("engine-js") ? "js" : engine, errors });
  }
}

export interface ExpectedPage extends Expected {
  /** It shows the response of its server. */
  readonly server?: true;
  /** It shows the list that the framework's page in docs/ has. */
  readonly list?: true | undefined;
}

/** Expects that the page guards its feed, without warnings and errors. */
export async function expectPage(url: string, expected: ExpectedPage = {}): Promise<void> {
  const { page, complaints } = await newPage();
  const delivered = expected.list && (await serveFeed(page));
  await page.goto(url);
  expectOutcomes(await outcomesOn(page, complaints), expected);
  if (delivered) await expectList(page, delivered);
  if (expected.server) expectServed(JSON.parse(await page.locator("#server").innerText()) as ServerOutcome);
  expect(complaints).toEqual([]);
}

export async function outcomesOn(page: Page, complaints: readonly string[]): Promise<Outcomes> {
  try {
    return (await (await page.waitForFunction(() => window.outcomes)).jsonValue()) ?? {};
  } catch (cause) {
    throw new Error(`${page.url()} has no outcome; its console: ${complaints.join("\n")}`, { cause });
  }
}

const PAGE_SIZE = 150;

/** The feed that the lists in docs/ request, as pages of the scenario. Returns the ids that get delivered. */
async function serveFeed(page: Page): Promise<Set<string>> {
  const { page: items, snapshot } = readScenario();
  const delivered = new Set<string>();
  await page.route("**/api/feed?cursor=*", (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get("cursor"));
    const next = from + PAGE_SIZE < items.length ? String(from + PAGE_SIZE) : null;
    const articles = items.slice(from, from + PAGE_SIZE).map(({ id }) => ({ id, title: id }));
    return route.fulfill({ json: { items: articles, snapshot, next } });
  });
  await page.route("**/api/feed/seen", (route) => {
    const { impressions } = route.request().postDataJSON() as Report;
    for (const { id } of impressions) delivered.add(id);
    return route.fulfill({ status: 204 });
  });
  return delivered;
}

/** Expects that the list shows the fresh items, page by page, and after a reload none that was in view before. */
async function expectList(page: Page, delivered: ReadonlySet<string>): Promise<void> {
  const shown = () => page.locator("li[data-seen-id]").allTextContents();
  const { page: items, fresh } = readScenario();
  const freshOf = (pages: number) =>
    items.slice(0, pages * PAGE_SIZE).flatMap(({ id }) => (fresh.includes(id) ? id : []));
  await expect.poll(shown).toEqual(freshOf(1));
  await page.getByRole("button", { name: "More" }).click();
  await expect.poll(shown).toEqual(freshOf(2));
  await expect.poll(() => delivered.size).toBeGreaterThan(0);
  await page.reload();
  await expect.poll(shown).not.toEqual([]);
  const again = await shown();
  expect(again.filter((id) => delivered.has(id) || !fresh.includes(id))).toEqual([]);
}

/** Expects that the page guards its feed, and without a network shows nothing that it has recorded before. */
export async function expectOffline(url: string): Promise<void> {
  const { page, complaints } = await newPage();
  await page.goto(url);
  const online = await outcomesOn(page, complaints);
  expectOutcomes(online, { parts: ["page"] });
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.context().setOffline(true);
  await page.reload();
  const offline = await outcomesOn(page, complaints);
  expect(offline.page?.before).toEqual(online.page?.after);
  expect(complaints).toEqual([]);
}

export async function expectEndpoint(url: string): Promise<void> {
  const response = await fetch(url);
  const body = await response.text();
  if (!response.ok) throw new Error(`${url} responded with status ${String(response.status)}: ${body.slice(0, 500)}`);
  expectServed(JSON.parse(body) as ServerOutcome);
}

/** Reads the JSON that a program or a test of the app has written. */
export async function readOutcome<T>(directory: string, file: string): Promise<T> {
  return JSON.parse(await readFile(join(directory, file), "utf8")) as T;
}

/** An extension in Chromium: its background, a page of it, and its script in a site's page. @param site the address of a page that the extension has a script for */
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
