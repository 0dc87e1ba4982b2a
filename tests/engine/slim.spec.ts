/** `seenguard/slim` in a page that fetches its Wasm: compiled while it is downloaded, if the server and browser allow it. */
import { readFileSync } from "node:fs";
import type { BrowserContext, Page } from "@playwright/test";
import type { GuardOptions } from "seenguard/slim";
import { codes, expect, fresh, NAMESPACE, record, SITE, test } from "../support/chromium.js";

declare global {
  interface Window {
    /** Which of the functions that compile a module were called. */
    compilers: string[];
    fallback: NonNullable<GuardOptions["fallback"]>;
  }
}

const FILES = /^(slim|slim\.bundle|errors|shared-\w+|engine-js)\.js$/;
const PAGE = '<!doctype html><title>A feed</title><script type="module" src="/app.js"></script>';
const APP = `import * as Seenguard from "/slim.js";
  Object.assign(globalThis, { Seenguard, fallback: () => import("/engine-js.js") });`;

const wasm = readFileSync(new URL("../../dist/seenguard.wasm", import.meta.url));

/** The response to a request for the module. */
interface WasmAnswer {
  readonly status?: number;
  readonly contentType: string;
  readonly body: Buffer | string;
}

/** Serves a page with `seenguard/slim`. `policy`: its Content-Security-Policy. */
async function serve(context: BrowserContext, answer: WasmAnswer, policy = ""): Promise<void> {
  await context.route(`${SITE}/**`, async (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    if (name === "") {
      const headers = { "content-security-policy": policy };
      await route.fulfill({ contentType: "text/html", body: PAGE, headers });
    } else if (name === "app.js") await route.fulfill({ contentType: "text/javascript", body: APP });
    else if (name === "seenguard.wasm") await route.fulfill(answer);
    else if (FILES.test(name)) {
      const body = readFileSync(new URL(`../../dist/${name}`, import.meta.url));
      await route.fulfill({ contentType: "text/javascript", body });
    } else await route.fulfill({ status: 404 });
  });
  await context.addInitScript(() => {
    window.compilers = [];
    for (const name of ["compile", "compileStreaming"] as const) {
      const compiler = WebAssembly[name] as (source: never) => Promise<WebAssembly.Module>;
      WebAssembly[name] = (source: unknown) => {
        window.compilers.push(name);
        return compiler(source as never);
      };
    }
  });
}

/** Opens a guard on a page. Returns its engine. */
async function openSlim(page: Page): Promise<string> {
  await page.goto(`${SITE}/`);
  await page.waitForFunction(() => "Seenguard" in window);
  return page.evaluate(async (namespace) => {
    window.codes = [];
    const onError = ({ code }: { code: string }) => window.codes.push(code);
    const { fallback } = window;
    const options: GuardOptions = { namespace, onError, wasm: "/seenguard.wasm", fallback };
    window.guard = await window.Seenguard.SeenGuard.open(options);
    return window.guard.stats().engine;
  }, NAMESPACE);
}

const compilers = (page: Page) => page.evaluate(() => window.compilers);

async function expectGuarding(page: Page): Promise<void> {
  await record(page, ["a"]);
  expect(await fresh(page, ["a", "b", "b"])).toEqual(["b"]);
  expect(await codes(page)).toEqual([]);
}

test("compiles the Wasm while it is downloaded", async ({ context, page }) => {
  await serve(context, { contentType: "application/wasm", body: wasm });
  expect(await openSlim(page)).toBe("wasm");
  expect(await compilers(page)).toEqual(["compileStreaming"]);
  await expectGuarding(page);
});

test("compiles Wasm of a wrong MIME type after the download", async ({ context, page }) => {
  await serve(context, { contentType: "application/octet-stream", body: wasm });
  expect(await openSlim(page)).toBe("wasm");
  expect(await compilers(page)).toEqual(["compile"]);
  await expectGuarding(page);
});

test("compiles the Wasm after the download in a browser without streaming compilation", async ({ context, page }) => {
  await serve(context, { contentType: "application/wasm", body: wasm });
  await context.addInitScript(() => Reflect.deleteProperty(WebAssembly, "compileStreaming"));
  expect(await openSlim(page)).toBe("wasm");
  expect(await compilers(page)).toEqual(["compile"]);
  await expectGuarding(page);
});

test("runs the JavaScript engine under a policy that forbids Wasm", async ({ context, page }) => {
  await serve(context, { contentType: "application/wasm", body: wasm }, "script-src 'self'");
  expect(await openSlim(page)).toBe("js");
  await expectGuarding(page);
});

for (const [what, answer] of Object.entries<WasmAnswer>({
  "is not found": { status: 404, contentType: "text/html", body: "<!doctype html>Not found" },
  "is a page": { contentType: "text/html", body: "<!doctype html>Welcome" },
  "is cut short": { contentType: "application/wasm", body: wasm.subarray(0, wasm.length / 2) },
})) {
  test(`lets everything pass, and reports it, if the Wasm ${what}`, async ({ context, page }) => {
    await serve(context, answer);
    expect(await openSlim(page)).toBe("none");
    expect(await codes(page)).toEqual(["engine"]);
    expect(await fresh(page, ["a", "a"])).toEqual(["a"]);
  });
}
