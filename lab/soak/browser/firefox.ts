/** Firefox over WebDriver BiDi, which can neither throttle the processor nor collect garbage on demand. */
import { once } from "node:events";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import { programs } from "../../../scripts/lib/programs.mjs";
import { expressionOf, type DrivenBrowser, type Driver, type Tab, type TabSample } from "./driver.ts";
import { residentBytesOf } from "../../benches/machine.ts";

/** The storage of all sites together, in kilobytes: small enough to be filled. */
const STORAGE_KB = 60_000;
const NEW_TAB_ATTEMPTS = 3;

export const firefoxDriver: Driver = {
  name: "firefox",
  async start(profile) {
    const executablePath = programs.firefox.find();
    if (executablePath === undefined) throw new Error(`${programs.firefox.apt} is missing: npm run setup`);
    const browser = await puppeteer.launch({
      browser: "firefox",
      executablePath,
      headless: true,
      userDataDir: profile,
      protocolTimeout: 120_000,
      extraPrefsFirefox: { "dom.quotaManager.temporaryStorage.fixedLimit": STORAGE_KB },
    });
    return new DrivenFirefox(browser, `Firefox ${(await browser.version()).replace(/^\D+/, "")}`);
  },
};

class DrivenFirefox implements DrivenBrowser {
  constructor(
    private readonly browser: Browser,
    readonly version: string,
  ) {}

  async newTab(url: string): Promise<Tab> {
    const page = await this.newPage();
    await page.goto(url);
    return new FirefoxTab(page);
  }

  /**
   * Opens a window, which stays visible next to others: a hidden page learns of other tabs only when it is shown.
   * Firefox replaces the first document of a new window, and reports an error if it was inspecting that document.
   */
  private async newPage(attempts = NEW_TAB_ATTEMPTS): Promise<Page> {
    try {
      return await this.browser.newPage({ type: "window" });
    } catch (error) {
      if (attempts === 1 || !String(error).includes("DiscardedBrowsingContextError")) throw error;
      return this.newPage(attempts - 1);
    }
  }

  async setOffline(isOffline: boolean): Promise<void> {
    for (const page of await this.browser.pages()) await page.setOfflineMode(isOffline);
  }

  residentBytes(): number {
    return residentBytesOf(this.browser.process()?.pid ?? 0);
  }

  async kill(): Promise<void> {
    const process = this.browser.process();
    if (!process) return;
    const gone = once(process, "exit");
    if (process.kill("SIGKILL")) await gone;
    await this.browser.disconnect().catch(() => undefined); // the connection is closed already
  }
}

class FirefoxTab implements Tab {
  constructor(private readonly page: Page) {}

  call: Tab["call"] = (name, ...args) =>
    this.page.evaluate(expressionOf(name, args)) as ReturnType<Tab["call"]> as never;

  async reload(): Promise<void> {
    await this.page.reload();
  }

  close(): Promise<void> {
    return this.page.close();
  }

  kill(): Promise<void> {
    return this.page.close({ runBeforeUnload: false });
  }

  sample(): Promise<TabSample> {
    return Promise.resolve({});
  }

  slowDown(): Promise<void> {
    return Promise.resolve();
  }

  limitStorage(): Promise<void> {
    return Promise.resolve();
  }
}
