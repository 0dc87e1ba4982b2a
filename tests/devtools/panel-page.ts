/** A page with the panel, under the strictest content security policy. */
import { readFileSync } from "node:fs";
import type { Locator, Page } from "@playwright/test";
import type { Snapshot } from "seenguard";
import type {} from "seenguard/devtools";
import { ShardChain } from "seenguard/server";
import { openGuard, SITE, test as base } from "../support/chromium.js";

const script = readFileSync(new URL("../../dist/devtools.js", import.meta.url), "utf8");

/** Forbids style elements, style attributes and parsing strings as markup. */
const POLICY = [
  ...["default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'nonce-of-the-page'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join("; ");

/** The guard's script, and what is on the page. */
const page = (content: string) => `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>A feed</title>
<main><h1>A feed</h1>${content}</main><script src="/seenguard.js"></script></html>`;

const PANEL = `<seenguard-panel open></seenguard-panel><script type="module" src="/devtools.js"></script>`;

/** A page, and the panel on it that most tests check. */
export class PanelPage {
  /** The console's errors and warnings, and those of the policy. */
  readonly complaints: string[] = [];

  constructor(readonly page: Page) {
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(String(error)));
  }

  get panel(): Locator {
    return this.page.locator("seenguard-panel");
  }

  async open(content = PANEL): Promise<void> {
    await this.page.route(`${SITE}/panel`, (route) =>
      route.fulfill({ contentType: "text/html", headers: { "content-security-policy": POLICY }, body: page(content) }),
    );
    // The other address is another module: a second copy of it.
    await this.page.route(/\/devtools\.js(\?copy)?$/, (route) =>
      route.fulfill({ contentType: "text/javascript", body: script }),
    );
    await this.page.goto(`${SITE}/panel`);
  }

  /** Opens a guard, and shows it in each panel of the page. */
  async openWithGuard(options: Parameters<typeof openGuard>[1] = { storage: "none" }): Promise<void> {
    await this.open();
    await openGuard(this.page, options);
    await this.page.evaluate(() => {
      for (const panel of document.querySelectorAll("seenguard-panel")) panel.guard = window.guard;
    });
  }

  /** The description of a term in the panel. */
  fact(term: string): Locator {
    const row = this.panel.locator("dl > div").filter({ has: this.page.getByText(term, { exact: true }) });
    return row.getByRole("definition");
  }

  /** The rows of a list: each item's name and why it is there. */
  rows(list: "Stopped lately" | "Pending"): Locator {
    return this.panel.getByRole("list", { name: list }).getByRole("listitem");
  }

  async apply(snapshot: Snapshot): Promise<void> {
    await this.page.evaluate((given) => {
      window.guard.apply(given);
    }, snapshot);
  }
}

export const test = base.extend<{ shown: PanelPage }>({
  // The reader's context serves the rest of the site.
  shown: async ({ reader }, use) => use(new PanelPage(await reader.context.newPage())),
});

export async function snapshotOf(ids: readonly string[]): Promise<Snapshot> {
  const chain = await ShardChain.create();
  chain.record(ids);
  const snapshot = chain.snapshot();
  chain.free();
  return snapshot;
}

/** The snapshot of the same chain for a device with this `Seen-Held`. */
export async function shippedAgain({ shards }: Snapshot, held: string): Promise<Snapshot> {
  const chain = await ShardChain.from(shards as string[]);
  const snapshot = chain.snapshot({ held });
  chain.free();
  return snapshot;
}
