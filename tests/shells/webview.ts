/**
 * Android's webview, simulated by a page of Chromium at https://localhost: the app's copied files are served there, with
 * the bridge before its scripts. It is driven by its own session of the debugging protocol, since Playwright does not
 * support a page whose process has ended, which a webview's app loads again.
 */
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { CDPSession, Page } from "@playwright/test";
import { bridgeOf, type Call, type NativeSide } from "./native-side.js";
import type { Shell } from "./reader.js";

const ORIGIN = "https://localhost";

export const TYPES: Record<string, string> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
};

interface WebviewOptions {
  readonly native: NativeSide;
  /** node_modules of the app. */
  readonly modules: string;
  /** The directory of the built page. */
  readonly built: string;
  /** Runs in each document before the bridge. */
  readonly before?: () => void;
}

export class Webview implements Shell {
  private readonly session: CDPSession;
  private readonly options: WebviewOptions;
  private readonly head: string;

  private constructor(session: CDPSession, options: WebviewOptions) {
    [this.session, this.options] = [session, options];
    const { native, modules, before } = options;
    this.head = `${before ? `(${before.toString()})();` : ""}
      window.androidBridge = { postMessage: (text) => toNative(text) };
      window.CapacitorHttpAndroidInterface = { isEnabled: () => ${String(native.isHttpEnabled)} };
      ${bridgeOf(modules, "android", ORIGIN)}`;
  }

  static async open(page: Page, options: WebviewOptions): Promise<Webview> {
    await page.setViewportSize({ width: 390, height: 700 });
    // Chromium requires a permission before a page reaches this machine's own network.
    await page.context().grantPermissions(["local-network-access"], { origin: ORIGIN });
    const session = await page.context().newCDPSession(page);
    const webview = new Webview(session, options);
    session.on("Fetch.requestPaused", ({ requestId, request }) => void webview.serve(requestId, request));
    session.on("Runtime.bindingCalled", ({ payload }) => {
      void options.native.receive(JSON.parse(payload) as Call, webview.answer);
    });
    await session.send("Fetch.enable", { patterns: [{ urlPattern: `${ORIGIN}/*` }] });
    await session.send("Runtime.enable");
    await session.send("Page.enable");
    await session.send("Runtime.addBinding", { name: "toNative" });
    await session.send("Page.navigate", { url: `${ORIGIN}/` });
    return webview;
  }

  private readonly answer = (result: object): void => {
    const deliver = (data: string) => {
      (window as unknown as { androidBridge: { onmessage(event: object): void } }).androidBridge.onmessage({ data });
    };
    // The document of the request may have gone.
    this.evaluate(deliver, JSON.stringify(result)).catch(() => undefined);
  };

  async evaluate<T, A = undefined>(run: (argument: A) => T | Promise<T>, argument?: A): Promise<T> {
    const expression = `(${run.toString()})(${JSON.stringify(argument)})`;
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.session.send("Runtime.evaluate", options);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as T;
  }

  /** Ends the process of the webview, whose app loads the page again: the page gets no event. */
  async endProcess(): Promise<void> {
    const crashed = new Promise((resolve) => this.session.once("Inspector.targetCrashed", resolve));
    // An ended process does not respond.
    this.session.send("Page.crash").catch(() => undefined);
    await crashed;
    await this.session.send("Page.reload");
  }

  async reload(): Promise<void> {
    await this.session.send("Page.reload");
  }

  /** Hides and freezes the page, like that of an app in the background. */
  async freeze(): Promise<void> {
    await this.session.send("Page.setWebLifecycleState", { state: "frozen" });
  }

  /** Pulls the list down by touch. */
  async pull(): Promise<void> {
    const at = async (type: "touchStart" | "touchMove" | "touchEnd", y: number) => {
      await this.session.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: type === "touchEnd" ? [] : [{ x: 195, y }],
      });
    };
    await at("touchStart", 150);
    for (let y = 160; y <= 560; y += 40) await at("touchMove", y);
    await at("touchEnd", 560);
  }

  private async serve(requestId: string, request: { url: string; method: string; headers: object }): Promise<void> {
    const { url, method } = request;
    const answer = url.includes("/_capacitor_http_interceptor_")
      ? await this.options.native.intercept(url, method, request.headers as Record<string, string>)
      : await this.file(new URL(url).pathname);
    const body = Buffer.from(await answer.arrayBuffer()).toString("base64");
    // The body is whole and unpacked here.
    const isOfBody = (name: string) => ["content-encoding", "content-length", "transfer-encoding"].includes(name);
    const responseHeaders = Array.from(answer.headers, ([name, value]) => ({ name, value })).filter(
      ({ name }) => !isOfBody(name),
    );
    const response = { requestId, responseCode: answer.status, responseHeaders, body };
    // The page may be gone, or have aborted the request.
    await this.session.send("Fetch.fulfillRequest", response).catch(() => undefined);
  }

  private async file(path: string): Promise<Response> {
    const name = path === "/" ? "/index.html" : path;
    const content = await readFile(join(this.options.built, name)).catch(() => undefined);
    if (content === undefined) return new Response("", { status: 404 });
    const headers = { "content-type": TYPES[extname(name)] ?? "application/octet-stream" };
    if (name !== "/index.html") return new Response(new Uint8Array(content), { headers });
    this.options.native.begin(this.answer);
    return new Response(withBridge(content.toString(), this.head), { headers });
  }
}

/** As JSInjector.java does. */
export const withBridge = (html: string, script: string): string =>
  html.replace("<head>", () => `<head>\n<script>${script}</script>\n`);
