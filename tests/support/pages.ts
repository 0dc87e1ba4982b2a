/** Pages with a guard in them, and the tests' actions there. */
import { test as base, type Page } from "@playwright/test";
import type { ApplyResult, GuardOptions, GuardStats, ReportOptions, SeenGuard, Snapshot } from "seenguard";
import { until } from "./processes.js";
import { Site } from "./site.js";

export { idsOf } from "./shards.js";

declare global {
  /** The global of the page's script tag. */
  const Seenguard: typeof import("seenguard");
  interface Window {
    guard: SeenGuard;
    /** The codes of the errors of `onError`. */
    codes: string[];
    stopReport: () => void;
  }
}

export type PageOptions = Pick<GuardOptions, "storage" | "windowDays"> & { namespace?: string };

export const NAMESPACE = "home:reader";

/** Any page whose functions run by `evaluate`: Playwright's, a frame of it, or another engine's. */
export type Evaluates = Pick<Page, "evaluate">;

/** Opens a guard as the page's global `guard`. */
export async function openGuard(page: Evaluates, options: PageOptions = {}): Promise<void> {
  await page.evaluate(
    async (options) => {
      window.codes = [];
      const onError = ({ code }: { code: string }) => window.codes.push(code);
      window.guard = await Seenguard.SeenGuard.open({ onError, ...options });
    },
    { namespace: NAMESPACE, ...options },
  );
}

/** Opens a page of the site and a guard in it. */
export async function visit(page: Page, site: Site, options: PageOptions = {}): Promise<Page> {
  await page.goto(site.origin);
  await openGuard(page, options);
  return page;
}

export async function record(page: Evaluates, ids: readonly string[]): Promise<void> {
  await page.evaluate((ids) => {
    window.guard.record(ids);
  }, ids);
}

export async function flush(page: Evaluates): Promise<void> {
  await page.evaluate(() => window.guard.flush());
}

/** The ids of these that pass the page's guard. */
export function fresh(page: Evaluates, ids: readonly string[]): Promise<string[]> {
  return page.evaluate((ids) => window.guard.filter(ids), ids);
}

export function apply(page: Evaluates, snapshot: Snapshot): Promise<ApplyResult> {
  return page.evaluate((snapshot) => window.guard.apply(snapshot), snapshot);
}

export function held(page: Evaluates): Promise<string> {
  return page.evaluate(() => window.guard.headers()["Seen-Held"] ?? "");
}

export function stats(page: Evaluates): Promise<GuardStats> {
  return page.evaluate(() => window.guard.stats());
}

export function codes(page: Evaluates): Promise<string[]> {
  return page.evaluate(() => window.codes);
}

/** Starts delivery of the page's guard to the site. */
export async function report(
  page: Evaluates,
  options: Pick<ReportOptions, "headers" | "intervalMs"> = {},
): Promise<void> {
  await page.evaluate(
    (options) => {
      window.stopReport = window.guard.report({ url: "/impressions", ...options });
    },
    { intervalMs: 100, ...options },
  );
}

/** The keys that the package has in IndexedDB. */
export function keysInIndexedDb(page: Evaluates): Promise<string[]> {
  return page.evaluate(
    () =>
      new Promise<string[]>((resolve, reject) => {
        const opening = indexedDB.open("seenguard");
        opening.onerror = () => {
          reject(new Error("no IndexedDB"));
        };
        opening.onsuccess = () => {
          const database = opening.result;
          const asking = database.transaction("entries").objectStore("entries").getAllKeys();
          asking.onsuccess = () => {
            database.close();
            resolve(asking.result.map(String));
          };
        };
      }),
  );
}

/** Resolves when a row is stored, and with it the device's name, which is in all requests from then on. */
export function untilNamed(page: Evaluates): Promise<void> {
  return until("the device has a name", async () => (await keysInIndexedDb(page)).some((key) => key.includes("/r/")));
}

/** The keys of the stashes that the package has in localStorage, each of which is a row. */
export function stashesOn(page: Evaluates): Promise<string[]> {
  return page.evaluate(() => Object.keys(localStorage).filter((key) => /^seenguard\/.*\/s\//.test(key)));
}

export const test = base.extend<{ site: Site }>({
  site: async ({}, use) => {
    const site = await Site.start();
    await use(site);
    await site.close();
  },
});

export { expect } from "@playwright/test";
