/** Pages of one site with the package, loaded by a script tag. */
import { readFileSync } from "node:fs";
import { test as base, type BrowserContext, type Frame, type Page } from "@playwright/test";
import type { GuardOptions, SeenGuard } from "seenguard";

declare global {
  interface Window {
    Seenguard: typeof import("seenguard");
    guard: SeenGuard;
    /** Codes of the errors of `onError`. */
    codes: string[];
    /** Lets a storage that a test blocks respond. */
    letStorageAnswer: () => void;
  }
}

export const SITE = "https://feed.test";
export const NAMESPACE = "home:reader-1";

/** Options that can be sent to a page. */
type PlainOptions = Partial<Pick<GuardOptions, "namespace" | "windowDays">> & {
  storage?: "indexeddb" | "none";
};

/** The package's file for a script tag. */
export const script = readFileSync(new URL("../../dist/seenguard.development.iife.js", import.meta.url), "utf8");

const HTML = `<!doctype html><html lang="en"><title>A feed</title><style>body{margin:0}</style>
<body><script src="/seenguard.js"></script></body></html>`;

/** Serves the site from memory. `headers` go with each document. */
async function serveSite(context: BrowserContext, headers: Record<string, string>): Promise<void> {
  await context.route(`${SITE}/**`, (route) =>
    route.request().url().endsWith(".js")
      ? route.fulfill({ contentType: "text/javascript", body: script })
      : route.fulfill({ contentType: "text/html", body: HTML, headers }),
  );
}

/** One reader's browser. */
export class Reader {
  constructor(readonly context: BrowserContext) {}

  async openPage(): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(`${SITE}/`);
    return page;
  }

  /** A page in which a guard is open. */
  async openGuardedPage(options: PlainOptions = {}): Promise<Page> {
    const page = await this.openPage();
    await openGuard(page, options);
    return page;
  }
}

/** Opens a guard in a document, as `window.guard`. */
export async function openGuard(target: Page | Frame, options: PlainOptions = {}): Promise<void> {
  await target.evaluate(
    async ([namespace, given]) => {
      window.codes = [];
      const onError = ({ code }: { code: string }) => window.codes.push(code);
      window.guard = await window.Seenguard.SeenGuard.open({ namespace, onError, ...given });
    },
    [NAMESPACE, options] as const,
  );
}

/** Records, and waits until the impressions are stored. */
export async function record(target: Page | Frame, ids: string[]): Promise<void> {
  await target.evaluate(async (recorded) => {
    window.guard.record(recorded);
    await window.guard.flush();
  }, ids);
}

export function fresh(target: Page | Frame, ids: string[]): Promise<string[]> {
  return target.evaluate((candidates) => window.guard.filter(candidates), ids);
}

export function codes(target: Page | Frame): Promise<string[]> {
  return target.evaluate(() => window.codes);
}

export const test = base.extend<{ headers: Record<string, string>; reader: Reader }>({
  headers: [{}, { option: true }],
  reader: async ({ context, headers }, use) => {
    await serveSite(context, headers);
    await use(new Reader(context));
  },
});

export { expect } from "@playwright/test";
