/**
 * A reader in front of a tab of the news product, with an independent record of what was seen. A story is identified by
 * its title, which a repost shares with its original.
 */
import { test as base, expect as impatient, type Browser, type BrowserContext, type Page } from "@playwright/test";
import { startProduct, type Product } from "./product.js";

/** `expect` with a timeout for a busy machine. */
export const expect = impatient.configure({ timeout: 20_000 });

/** 1.5 times the guard's dwell time. */
const LOOK_MS = 1_500;

declare global {
  interface Window {
    /** Called when a story was in view for long enough. */
    noteSeen: (title: string) => void;
    everShown: Set<string>;
  }
}

export class Reader {
  /** Titles of stories that were in view for long enough, in their order. */
  readonly seen = new Set<string>();
  /** The messages of the console. */
  readonly complaints: string[] = [];
  /** Method, path and response of each request that changed something on the server. */
  readonly changes: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly address: string,
  ) {}

  /** A new tab. */
  static async open(context: BrowserContext, address: string): Promise<Reader> {
    const reader = new Reader(await context.newPage(), address);
    const { page } = reader;
    await page.exposeFunction("noteSeen", (title: string) => reader.seen.add(title));
    await page.addInitScript(watch, LOOK_MS);
    page.on("console", (message) => {
      if (["warning", "error"].includes(message.type())) reader.complaints.push(message.text());
    });
    page.on("pageerror", (error) => reader.complaints.push(String(error)));
    page.on("response", (response) => {
      const method = response.request().method();
      if (method !== "GET")
        reader.changes.push(`${method} ${new URL(response.url()).pathname} ${String(response.status())}`);
    });
    await page.goto(address);
    return reader;
  }

  /** Another tab on this device. */
  anotherTab(): Promise<Reader> {
    return Reader.open(this.page.context(), this.address);
  }

  async signIn(name: string): Promise<void> {
    await this.page.getByLabel("Your name").fill(name);
    await this.page.getByRole("button", { name: "Sign in" }).click();
    await this.loaded();
  }

  async signOut(): Promise<void> {
    await this.fromAccountMenu("Sign out");
    await expect(this.page.getByLabel("Your name")).toBeVisible();
  }

  /** Switches to an account that has signed in here before. */
  async readAs(name: string): Promise<void> {
    await this.fromAccountMenu(`Read as ${name}`);
    await expect(this.page.locator("summary")).toHaveText(name);
    await this.loaded();
  }

  private async fromAccountMenu(entry: string): Promise<void> {
    await this.page.locator("summary").click();
    await this.page.getByRole("button", { name: entry, exact: true }).click();
  }

  async goTo(page: "Stories" | "Lighthouses" | "History"): Promise<void> {
    await this.page.getByRole("navigation").getByRole("link", { name: page }).click();
    await expect(this.page.getByRole("heading", { level: 1 })).toHaveText(page === "Stories" ? "New to you" : page);
    if (page !== "History") await this.loaded();
  }

  async refresh(): Promise<void> {
    const answer = this.page.waitForResponse(/\/api\/(feed|topics)/);
    await this.page.evaluate(() => window.everShown.clear());
    await this.page.getByRole("button", { name: "Refresh" }).click();
    await answer;
    await this.loaded();
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.loaded();
  }

  async loaded(): Promise<void> {
    await expect(this.page.locator(".stories[aria-busy=false] li").first()).toBeVisible();
  }

  /** The titles in the list, top to bottom. */
  titles(): Promise<string[]> {
    return this.page.locator(".stories h2").allTextContents();
  }

  /** Titles that have been in the list since the last refresh, if only for a moment. */
  everShown(): Promise<string[]> {
    return this.page.evaluate(() => [...window.everShown]);
  }

  /** Waits until the stories in view have counted. */
  async look(): Promise<void> {
    await expect
      .poll(async () => (await this.page.evaluate(titlesInView)).filter((title) => !this.seen.has(title)))
      .toEqual([]);
  }

  async scrollBy(pixels: number): Promise<void> {
    await this.page.evaluate((top) => scrollBy({ top, behavior: "instant" }), pixels);
  }

  /** Scrolls, too fast to see anything, until the list has `count` stories. */
  async scrollUntil(count: number): Promise<void> {
    await expect(async () => {
      await this.page.evaluate(() => scrollTo({ top: document.body.scrollHeight, behavior: "instant" }));
      expect((await this.titles()).length).toBeGreaterThanOrEqual(count);
    }).toPass({ intervals: [50] });
  }

  /** Waits until the stories in view amid a list of several pages have counted. */
  async readInTheMiddle(): Promise<void> {
    await this.scrollUntil(30);
    await this.scrollBy(-600);
    await this.look();
  }

  async openStory(title: string): Promise<void> {
    await this.page.locator(".stories").getByRole("link", { name: title, exact: true }).click();
    await expect(this.page.locator("article h1")).toHaveText(title);
  }

  async goBack(): Promise<void> {
    await this.page.getByRole("button", { name: "Back" }).click();
    await this.loaded();
  }

  scrollPosition(): Promise<number> {
    return this.page.evaluate(() => Math.round(scrollY));
  }
}

/** Runs in the page before its scripts do. */
function watch(lookMs: number): void {
  const since = new WeakMap<Element, number>();
  setInterval(() => {
    for (const card of document.querySelectorAll(".stories li")) {
      const { top, height } = card.getBoundingClientRect();
      const visible = Math.min(top + height, innerHeight) - Math.max(top, 0);
      if (visible < height * 0.6) since.delete(card);
      else if (!since.has(card)) since.set(card, Date.now());
      else if (Date.now() - (since.get(card) ?? 0) > lookMs)
        window.noteSeen(card.querySelector("h2")?.textContent ?? "");
    }
  }, 100);
  const shown = (window.everShown = new Set<string>());
  new MutationObserver(() => {
    for (const { textContent } of document.querySelectorAll(".stories h2")) shown.add(textContent);
  }).observe(document, { childList: true, subtree: true, characterData: true });
}

/** Runs in the page. */
function titlesInView(): string[] {
  return [...document.querySelectorAll(".stories li")].flatMap((card) => {
    const { top, height } = card.getBoundingClientRect();
    const visible = Math.min(top + height, innerHeight) - Math.max(top, 0);
    return visible < height * 0.65 ? [] : [card.querySelector("h2")?.textContent ?? ""];
  });
}

interface Fixtures {
  /** A name that nobody has signed in by yet. */
  name: string;
  /** A tab on this device. */
  openTab: () => Promise<Reader>;
  /** A tab on a device of its own. */
  openDevice: () => Promise<Reader>;
  setStream: Product["setStream"];
}

let names = 0;

export const test = base.extend<Fixtures, { product: Product }>({
  product: [
    async ({}, use) => {
      const product = await startProduct();
      await use(product);
      await product.stop();
    },
    { scope: "worker", timeout: 300_000 },
  ],
  name: async ({}, use) => use(`Ada ${String(++names)}`),
  openTab: async ({ context, product }, use) => use(() => Reader.open(context, product.address)),
  openDevice: async ({ browser, product }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async () => Reader.open(await contextOf(browser, contexts), product.address));
    for (const context of contexts) await context.close();
  },
  setStream: async ({ product }, use) => {
    await use(product.setStream);
    product.setStream(true);
  },
});

async function contextOf(browser: Browser, contexts: BrowserContext[]): Promise<BrowserContext> {
  const context = await browser.newContext();
  contexts.push(context);
  return context;
}
