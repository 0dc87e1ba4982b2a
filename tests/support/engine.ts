/**
 * Browsers of other engines, with the parts that the tests need: windows in which functions run. WebKitGTK by WebDriver,
 * Firefox by WebDriver BiDi.
 */
import type { Page } from "@playwright/test";
import puppeteer, { type Browser, type Frame, type Page as FirefoxPage } from "puppeteer-core";
import type { WebDriver } from "selenium-webdriver";
import { programs } from "../../scripts/lib/programs.mjs";
import { startWebKit, type Session } from "./webkit-driver.js";

export interface EngineWindow {
  open(url: string): Promise<void>;
  back(): Promise<void>;
  reload(): Promise<void>;
  close(): Promise<void>;
  /** Runs a function in the page, with its argument. */
  evaluate: Page["evaluate"];
  /** The same in the page's first frame. */
  readonly frame: { evaluate: Page["evaluate"] };
}

export interface Engine {
  /** Opens a window of its own: unlike a tab, it is visible whatever else is open. */
  newWindow(): Promise<EngineWindow>;
  end(): Promise<void>;
}

type Run = (run: (argument: unknown) => unknown, argument: unknown) => Promise<unknown>;

class WebKitEngine implements Engine {
  readonly #session: Session;
  readonly #first: string;

  constructor(session: Session, first: string) {
    this.#session = session;
    this.#first = first;
  }

  async newWindow(): Promise<EngineWindow> {
    const { driver } = this.#session;
    await driver.switchTo().window(this.#first);
    await driver.switchTo().newWindow("window");
    return new WebKitWindow(driver, await driver.getWindowHandle());
  }

  end(): Promise<void> {
    return this.#session.end();
  }
}

/** A WebDriver session has one current window: each call makes its own the current one first. */
class WebKitWindow implements EngineWindow {
  readonly #driver: WebDriver;
  readonly #handle: string;
  readonly evaluate: Page["evaluate"];
  readonly frame: { evaluate: Page["evaluate"] };

  constructor(driver: WebDriver, handle: string) {
    this.#driver = driver;
    this.#handle = handle;
    const run: Run = async (run, argument) => {
      const script = `
        const [argument, done] = arguments;
        Promise.resolve().then(() => (${run.toString()})(argument)).then(
          (value) => done({ value }),
          (error) => done({ error: String(error) }),
        );`;
      const outcome = await driver.executeAsyncScript<{ value: unknown } | { error: string }>(script, argument);
      if ("error" in outcome) throw new Error(outcome.error);
      return outcome.value;
    };
    this.evaluate = (async (function_: never, argument: unknown) => {
      await driver.switchTo().window(handle);
      return run(function_, argument);
    }) as Page["evaluate"];
    this.frame = {
      evaluate: (async (function_: never, argument: unknown) => {
        await driver.switchTo().window(handle);
        await driver.switchTo().frame(0);
        try {
          return await run(function_, argument);
        } finally {
          await driver.switchTo().defaultContent();
        }
      }) as Page["evaluate"],
    };
  }

  async open(url: string): Promise<void> {
    await this.#driver.switchTo().window(this.#handle);
    await this.#driver.get(url);
  }

  async back(): Promise<void> {
    await this.#driver.switchTo().window(this.#handle);
    await this.#driver.navigate().back();
  }

  async reload(): Promise<void> {
    await this.#driver.switchTo().window(this.#handle);
    await this.#driver.navigate().refresh();
  }

  async close(): Promise<void> {
    await this.#driver.switchTo().window(this.#handle);
    await this.#driver.close();
  }
}

class FirefoxEngine implements Engine {
  readonly #browser: Browser;

  constructor(browser: Browser) {
    this.#browser = browser;
  }

  async newWindow(): Promise<EngineWindow> {
    return new FirefoxWindow(await this.#browser.newPage({ type: "window" }));
  }

  end(): Promise<void> {
    return this.#browser.close();
  }
}

class FirefoxWindow implements EngineWindow {
  readonly #page: FirefoxPage;
  readonly evaluate: Page["evaluate"];
  readonly frame: { evaluate: Page["evaluate"] };

  constructor(page: FirefoxPage) {
    this.#page = page;
    const evaluateIn = (frame: () => Frame) =>
      ((function_: never, argument: unknown) => frame().evaluate(function_, argument)) as Page["evaluate"];
    this.evaluate = evaluateIn(() => page.mainFrame());
    this.frame = {
      evaluate: evaluateIn(() => {
        const [frame] = page.mainFrame().childFrames();
        if (frame === undefined) throw new Error("no frame in this page");
        return frame;
      }),
    };
  }

  async open(url: string): Promise<void> {
    await this.#page.goto(url);
  }

  async back(): Promise<void> {
    // BiDi's own command waits for a load event, which a page from the cache does not have.
    await this.#page.evaluate(() => {
      setTimeout(() => {
        history.back();
      });
    });
  }

  async reload(): Promise<void> {
    await this.#page.reload();
  }

  close(): Promise<void> {
    return this.#page.close();
  }
}

export async function startWebKitEngine(): Promise<Engine> {
  const session = await startWebKit();
  return new WebKitEngine(session, await session.driver.getWindowHandle());
}

/** What all sites together may store, in kilobytes: Firefox has no other way to reach its quota in a test. */
const FIREFOX_STORAGE_KB = 20_000;

export async function startFirefoxEngine(): Promise<Engine> {
  const executablePath = programs.firefox.find();
  if (executablePath === undefined) throw new Error(`${programs.firefox.apt} is missing: npm run setup`);
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath,
    headless: true,
    extraPrefsFirefox: { "dom.quotaManager.temporaryStorage.fixedLimit": FIREFOX_STORAGE_KB },
  });
  return new FirefoxEngine(browser);
}
