/**
 * The examples for React Native in docs/hybrid.md and react-native/bridge.md, word for word: the page of inline HTML in
 * one page of Chromium, the app with the real AsyncStorage in another, and between them a bridge that is slow and
 * reorders messages.
 */
import { mkdir, copyFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test as base, type BrowserContext, type Page } from "@playwright/test";
import { build, type Plugin } from "esbuild";
import type { SeenGuard, SeenStorage } from "seenguard";
import { lockDigest, npmCi } from "../../scripts/lib/npm.mjs";
import { inProject, toolDirectory } from "../../scripts/lib/paths.mjs";
import { examplesIn, exampleWith, readPage, writeExample, type Example } from "../docs/examples.js";
import { until } from "../support/processes.js";
import { Site } from "../support/site.js";
import { idsOf } from "../support/pages.js";

const [PAGE, APP] = examplesIn(readPage("tests/shells/react-native/bridge.md")) as [Example, Example];
const STORAGE = exampleWith("js shell", "@react-native-async-storage");

const here = inProject("tests", "shells", "react-native");

/** Installs AsyncStorage into the user's cache. Returns the directory. */
async function installed(): Promise<string> {
  const directory = join(toolDirectory, `shells-react-native-${lockDigest(here).slice(0, 16)}`);
  await mkdir(directory, { recursive: true });
  for (const name of ["package.json", "package-lock.json", ".npmrc"])
    await copyFile(join(here, name), join(directory, name));
  await npmCi(directory, "AsyncStorage");
  return directory;
}

async function bundle(contents: string, plugins: Plugin[] = []): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: inProject(), loader: "tsx" },
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    alias: { seenguard: inProject("dist", "index.js"), "react-native-webview": join(here, "webview.tsx") },
    plugins,
    logLevel: "silent",
  });
  return (outputFiles[0]?.text ?? "").replaceAll("</script", "<\\/script");
}

/** A page with its script in it, as a string in an app. */
async function bundlePage(): Promise<string> {
  const example = writeExample({ ...PAGE, code: `${PAGE.code}\nexport { storage };\n` });
  const script = await bundle(`import * as page from ${JSON.stringify(example)}; Object.assign(window, page);`);
  return `<!doctype html><meta charset="utf-8"><title>Feed</title><script type="module">${script}</script>`;
}

async function bundleApp(): Promise<string> {
  const modules = await installed();
  const examples: Plugin = {
    name: "examples",
    setup(build) {
      build.onResolve({ filter: /^\.\/storage$/ }, () => ({ path: writeExample(STORAGE) }));
      build.onResolve({ filter: /^@react-native-async-storage\// }, ({ path, kind, pluginData }) =>
        pluginData === "there" ? undefined : build.resolve(path, { kind, resolveDir: modules, pluginData: "there" }),
      );
    },
  };
  const script = await bundle(
    `import { createRoot } from "react-dom/client";
    import { FeedPage } from ${JSON.stringify(writeExample(APP))};
    import { storage } from "./storage";
    window.storage = storage;
    createRoot(document.body).render(<FeedPage html={window.html} />);`,
    [examples],
  );
  return `<!doctype html><meta charset="utf-8"><title>App</title><body><script type="module">${script}</script>`;
}

/** The number by which a page distinguishes its requests. */
const numberOf = (question: string) => question.replace(/^.*\//, "");

declare global {
  interface Window {
    guard: SeenGuard;
    html: string;
    /** In the app and in its page. */
    storage: SeenStorage;
    postToApp: (data: string) => void;
  }
}

/** The app in one page, its webview in another, and the bridge between them. */
class Device {
  readonly #app: Page;
  readonly #webView: Page;
  readonly #origin: string;
  /** The latency of a message, different for each. */
  delayMs = () => 0;
  /** Responses that arrive only when the next page makes a request of the same number. */
  #held: Map<string, string> | undefined;
  #isNext = false;
  /** The page's errors and warnings. */
  readonly warnings: string[] = [];

  private constructor(app: Page, webView: Page, origin: string) {
    this.#app = app;
    this.#webView = webView;
    this.#origin = origin;
  }

  static async start(context: BrowserContext, origin: string, html: string): Promise<Device> {
    const device = new Device(await context.newPage(), await context.newPage(), origin);
    await device.#connect(html);
    await device.startApp();
    return device;
  }

  async #connect(html: string): Promise<void> {
    const [app, webView] = [this.#app, this.#webView];
    webView.on("console", (message) => this.warnings.push(message.text()));
    await webView.exposeFunction("postToApp", async (data: string) => {
      const { question } = JSON.parse(data) as { question: string };
      const late = this.#held?.get(numberOf(question));
      if (this.#isNext && late !== undefined) await webView.evaluate(late);
      await this.#carry(() => app.evaluate((data) => window.fromWebView(data), data));
    });
    // As inline HTML has it: an origin of nobody.
    const headers = { "content-security-policy": "sandbox allow-scripts" };
    await webView.route("**/inline", (route) => route.fulfill({ contentType: "text/html", headers, body: html }));
    await webView.addInitScript(() => {
      Object.assign(window, { ReactNativeWebView: { postMessage: (data: string) => window.postToApp(data) } });
    });
    await app.exposeFunction("runInWebView", (script: string) => {
      const { question } = JSON.parse(/{.*}/.exec(script)?.[0] ?? "") as { question: string };
      if (this.#held !== undefined && !this.#isNext) this.#held.set(numberOf(question), script);
      else void this.#carry(() => webView.evaluate(script));
    });
    await app.exposeFunction("showInWebView", () => this.#show());
    await app.addInitScript((html) => Object.assign(window, { html }), html);
  }

  /** Each message has its own latency. A message that cannot arrive is lost silently. */
  async #carry(deliver: () => Promise<unknown>): Promise<void> {
    await pause(this.delayMs());
    await deliver().catch(() => undefined);
  }

  async #show(): Promise<void> {
    await this.#webView.goto(`${this.#origin}/inline`);
  }

  /** Starts the app again, which shows its page. */
  async startApp(): Promise<void> {
    await this.#webView.goto("about:blank");
    await this.#app.goto(this.#origin);
    await this.#untilOpen();
  }

  /** From now on holds responses back for the next page. */
  holdResponses(): void {
    this.#held = new Map();
    this.#isNext = false;
  }

  /** The number of held responses. */
  get held(): number {
    return this.#held?.size ?? 0;
  }

  /** Ends the webview's process, after which the app shows the page again. */
  async showAgain(): Promise<void> {
    this.#isNext = true;
    await this.#app.evaluate(() => window.showInWebView(window.html));
    await this.#untilOpen();
  }

  async #untilOpen(): Promise<void> {
    // During a navigation there is no page to evaluate in.
    await until("a guard is open", () => this.#webView.evaluate(() => "guard" in window).catch(() => false));
  }

  record(ids: string[]): Promise<number> {
    return this.#webView.evaluate((ids) => window.guard.record(ids), ids);
  }

  async flush(): Promise<void> {
    await this.#webView.evaluate(() => window.guard.flush());
  }

  fresh(ids: string[]): Promise<string[]> {
    return this.#webView.evaluate((ids) => window.guard.filter(ids), ids);
  }

  storage(): Promise<string> {
    return this.#webView.evaluate(() => window.guard.stats().storage);
  }

  /** The page's own storage. */
  ownStorage(): Promise<unknown> {
    return this.#webView.evaluate(async () => {
      const nameOf = (error: unknown) => (error as Error).name;
      const tryLocal = () => {
        try {
          return localStorage.length;
        } catch (error) {
          return nameOf(error);
        }
      };
      const tryDatabase = () =>
        new Promise((resolve) => {
          try {
            const opening = indexedDB.open("any");
            opening.onsuccess = () => resolve("opened");
            opening.onerror = () => resolve(opening.error?.name);
          } catch (error) {
            resolve(nameOf(error));
          }
        });
      return { localStorage: tryLocal(), indexedDB: await tryDatabase() };
    });
  }

  /** The results of the page's store for a key, requested `times` times at once. */
  ask(key: string, times: number): Promise<unknown[]> {
    return this.#webView.evaluate(
      ([key, times]) => Promise.all(Array.from({ length: times }, async () => window.storage.get(key))),
      [key, times] as const,
    );
  }

  /** The app's own store. */
  stored(): Promise<readonly string[]> {
    return this.#app.evaluate(() => window.storage.keys("seenguard/"));
  }

  async store(key: string, value: string): Promise<void> {
    await this.#app.evaluate(([key, value]) => window.storage.set(key, value), [key, value] as const);
  }
}

const test = base.extend<{ device: Device }, { bundles: { page: string; app: string } }>({
  bundles: [
    async ({}, use) => {
      await use({ page: await bundlePage(), app: await bundleApp() });
    },
    { scope: "worker", timeout: 120_000 },
  ],
  device: async ({ context, bundles }, use) => {
    const site = await Site.start();
    site.documents.set("/", bundles.app);
    await use(await Device.start(context, site.origin, bundles.page));
    await context.close();
    await site.close();
  },
});

const ids = idsOf("article", 40);

test("a page of inline HTML has no storage, and the app's store has its impressions", async ({ device }) => {
  expect(await device.ownStorage()).toEqual({ localStorage: "SecurityError", indexedDB: "SecurityError" });
  expect(await device.storage()).toBe("custom");
  await device.record(ids);
  await device.flush();
  await device.startApp();
  expect(await device.fresh([...ids, "new"])).toEqual(["new"]);
  const keys = await device.stored();
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.filter((key) => !key.startsWith("seenguard/"))).toEqual([]);
  expect(device.warnings).toEqual([]);
});

test("an app that responds late and in any order loses nothing, over several starts", async ({ device }) => {
  device.delayMs = () => Math.random() * 300;
  for (let start = 0; start < 3; start++) {
    for (let at = 0; at < 5; at++) {
      await device.record(idsOf(`start-${start}`, 4, 4 * at));
      if (at % 2 === 1) await device.flush();
    }
    await device.flush();
    await (start === 1 ? device.showAgain() : device.startApp());
    const all = [0, 1, 2].slice(0, start + 1).flatMap((number) => idsOf(`start-${number}`, 20));
    await expect.poll(() => device.fresh([...all, "new"])).toEqual(["new"]);
  }
  expect(device.warnings).toEqual([]);
});

test("responses to a page that the system has ended are not mistaken for those of the next one", async ({ device }) => {
  await device.store("seenguard/a", "of the page before");
  device.holdResponses();
  const lost = device.ask("seenguard/a", 30).catch(() => "ended");
  await expect.poll(() => device.held).toBeGreaterThanOrEqual(30);
  await device.showAgain();
  expect(await lost).toBe("ended");
  expect(new Set(await device.ask("seenguard/b", 30))).toEqual(new Set([null]));
  expect(device.warnings).toEqual([]);
});
