/**
 * A page with the DOM observer in it, whose timers run by hand while its layout and its frames are the browser's own.
 */
import { expect, test as base, type Browser, type Frame, type Page } from "@playwright/test";
import fastify, { type FastifyInstance } from "fastify";
import type { ObserveOptions } from "seenguard";
import { script } from "../support/chromium.js";

declare global {
  interface Window {
    /** Each impression as it was reported. */
    impressions: string[];
    /** Each message that `onError` was called with. */
    messages: string[];
    /** Each uncaught error's message. */
    uncaught: string[];
    stops: (() => void)[];
    settled: () => Promise<void>;
    /** The first element that the selector finds. */
    one: (selector: string) => HTMLElement;
    /** An element that a test stores in the page between two changes. */
    stored: Element;
    persisted: boolean;
    count: number;
    deliver: () => void;
    timers: (() => void)[];
  }
}

/** The step of the clock between frames. */
const STEP_MS = 100;

/** Short, since each step of the clock takes real frames. */
export const DWELL_MS = 400;

export const VIEWPORT = { width: 800, height: 600 };

/** An element that shows the item `id`. */
export function item(id: string, style = "height:200px", content = ""): string {
  return `<div data-seen-id="${id}" style="${style}">${content}</div>`;
}

/** Empty space. */
export function gap(height: number): string {
  return `<div style="height:${height}px"></div>`;
}

/** Options that can be sent to a page. */
type PlainOptions = Omit<ObserveOptions, "onImpression" | "idsOf" | "signal">;

export class ObservedPage {
  constructor(readonly page: Page) {}

  /** Shows a document whose body is `body`, without observing anything yet. */
  async show(body: string): Promise<void> {
    await this.page.setContent(documentOf(body));
    await this.equip(this.page.mainFrame());
  }

  /** Shows a document, and observes all of it. */
  async observing(body: string): Promise<void> {
    await this.show(body);
    await this.observe();
  }

  /** Loads the observer and the tests' helpers into a document. */
  async equip(frame: Frame): Promise<void> {
    await frame.addScriptTag({ content: script });
    await frame.evaluate(async () => {
      window.messages = [];
      window.guard = await window.Seenguard.SeenGuard.open({
        namespace: String(Math.random()),
        storage: "none",
        onError: ({ code, message }) => window.messages.push(`${code}: ${message}`),
      });
      window.impressions = [];
      window.uncaught = [];
      window.stops = [];
      addEventListener("error", (event) => window.uncaught.push(event.message));
      window.one = (selector) => {
        const element = document.querySelector<HTMLElement>(selector);
        if (!element) throw new Error(`no ${selector} in this page`);
        return element;
      };
      const Real = IntersectionObserver;
      const frameDone = () =>
        new Promise<void>((resolve) => {
          const observer = new Real(() => {
            observer.disconnect();
            resolve();
          });
          observer.observe(document.documentElement);
        });
      // What the first frame reports may request a second one.
      window.settled = async () => {
        for (let frames = 0; frames < 2; frames++) await frameDone();
      };
    });
  }

  async observe(options: PlainOptions = {}, root = "body", frame = this.page.mainFrame()): Promise<void> {
    await frame.evaluate(
      async ([selector, given]) => {
        const onImpression = (id: string) => window.impressions.push(id);
        window.stops.push(window.guard.observe(window.one(selector), { ...given, onImpression }));
        await window.settled();
      },
      [root, { dwellMs: DWELL_MS, ...options }] as const,
    );
  }

  /** Observes the element as one item. */
  async observeItem(id: string, selector: string, options: PlainOptions = {}): Promise<void> {
    await this.page.evaluate(
      async ([selector, id, given]) => {
        const onImpression = (id: string) => window.impressions.push(id);
        window.stops.push(window.guard.observeItem(window.one(selector), id, { ...given, onImpression }));
        await window.settled();
      },
      [selector, id, { dwellMs: DWELL_MS, ...options }] as const,
    );
  }

  /** Changes the page, and waits until the browser has reported the change of visibility. */
  async change<T>(action: (given: T) => void, given?: T): Promise<void> {
    await this.page.evaluate(action as (given: unknown) => void, given);
    await this.settle();
  }

  async scrollTo(y: number, selector = "html"): Promise<void> {
    await this.change(([top, scroller]) => window.one(scroller).scrollTo(0, top), [y, selector] as const);
  }

  async settle(): Promise<void> {
    for (const frame of this.page.frames()) await frame.evaluate(() => window.settled());
  }

  /** Advances the page's clock. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await this.page.clock.runFor(Math.min(left, STEP_MS));
      await this.settle();
    }
  }

  /** Advances it by more than a dwell. */
  async dwell(): Promise<void> {
    await this.pass(DWELL_MS + 2 * STEP_MS);
  }

  /** Expects that after another dwell these have counted, in this order. */
  async counts(...ids: string[]): Promise<void> {
    await this.dwell();
    expect(await this.impressions()).toEqual(ids);
  }

  /** Advances it by most of a dwell. */
  async dwellAlmost(): Promise<void> {
    await this.pass(DWELL_MS - STEP_MS);
  }

  /** From now on, observers get entries only by `window.deliver`, as on a page that is busy. */
  async holdEntries(): Promise<void> {
    await this.page.evaluate(() => {
      const deliveries: (() => void)[] = [];
      window.deliver = () => {
        for (const deliver of deliveries) deliver();
      };
      window.IntersectionObserver = class extends IntersectionObserver {
        private readonly held: IntersectionObserverEntry[];
        constructor(callback: IntersectionObserverCallback, options?: IntersectionObserverInit) {
          const held: IntersectionObserverEntry[] = [];
          super((entries) => held.push(...entries), options);
          this.held = held;
          deliveries.push(() => {
            if (held.length > 0) callback(held.splice(0), this);
          });
        }
        override takeRecords(): IntersectionObserverEntry[] {
          return [...this.held.splice(0), ...super.takeRecords()];
        }
      };
    });
  }

  /** From now on, timers run only when a test runs `window.timers`. */
  async holdTimers(): Promise<void> {
    await this.page.evaluate(() => {
      window.timers = [];
      window.setTimeout = ((timer: (given: unknown) => void, _ms: number, given: unknown) =>
        window.timers.push(() => {
          timer(given);
        })) as typeof setTimeout;
    });
  }

  /** The types of the events that the window listens to. */
  async listeners(): Promise<string[]> {
    const session = await this.page.context().newCDPSession(this.page);
    const { result } = await session.send("Runtime.evaluate", { expression: "window" });
    if (!result.objectId) throw new Error("the page has no window");
    const { listeners } = await session.send("DOMDebugger.getEventListeners", { objectId: result.objectId });
    await session.detach();
    return listeners.map(({ type }) => type);
  }

  async frame(index: number): Promise<Frame> {
    const frame = this.page.frames()[index];
    if (!frame) throw new Error(`no frame ${index} in this page`);
    await frame.waitForLoadState();
    await this.equip(frame);
    return frame;
  }

  messages(): Promise<string[]> {
    return this.page.evaluate(() => window.messages);
  }

  impressions(frame = this.page.mainFrame()): Promise<string[]> {
    return frame.evaluate(() => window.impressions);
  }
}

/** Served pages in a browser with a back/forward cache, as users' browsers have and test browsers have not. */
export class CachedPage extends ObservedPage {
  private constructor(
    page: Page,
    private readonly server: FastifyInstance,
  ) {
    super(page);
  }

  static async in(browser: Browser): Promise<CachedPage> {
    const page = await browser.newPage({ viewport: VIEWPORT });
    await stopClock(page);
    return new CachedPage(page, fastify());
  }

  async open(path: string, body: string): Promise<void> {
    this.server.get(path, (_, reply) => reply.type("text/html").send(documentOf(body)));
    this.server.get("/elsewhere", (_, reply) => reply.type("text/html").send(documentOf("elsewhere")));
    const origin = await this.server.listen({ host: "127.0.0.1", port: 0 });
    await this.page.goto(origin + path);
    await this.equip(this.page.mainFrame());
    await this.page.evaluate(() => {
      addEventListener("pageshow", (event) => (window.persisted = event.persisted));
    });
  }

  async leaveAndReturn(): Promise<void> {
    await this.page.goto(new URL("/elsewhere", this.page.url()).href);
    // A page from the cache does not load again.
    await this.page.goBack({ waitUntil: "commit" });
    await this.page.waitForFunction(() => window.persisted);
    await this.settle();
  }

  async close(): Promise<void> {
    await this.server.close();
  }
}

function documentOf(body: string): string {
  return `<!doctype html><html><head><style>body{margin:0}</style></head><body>${body}</body></html>`;
}

async function stopClock(page: Page): Promise<void> {
  await page.clock.install({ time: 0 });
  await page.clock.pauseAt(60_000);
}

export const test = base.extend<{ observed: ObservedPage; cached: CachedPage }>({
  viewport: VIEWPORT,
  observed: async ({ page }, use) => {
    await stopClock(page);
    await use(new ObservedPage(page));
  },
  cached: async ({ playwright, launchOptions }, use) => {
    const ignoreDefaultArgs = ["--disable-back-forward-cache"];
    const browser = await playwright.chromium.launch({ ...launchOptions, ignoreDefaultArgs });
    const cached = await CachedPage.in(browser);
    await use(cached);
    await browser.close();
    await cached.close();
  },
});

export { expect };
