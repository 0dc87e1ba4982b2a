/** The global names of a document in a simulated browser: its storage, timers, clock, chance and requests. */
import { BEGIN_MS, type Browser, type Listener, type PageDocument, type Random } from "./browser.js";
import { FakeFactory, FakeKeyRange } from "./indexeddb.js";
import { localStorageOf } from "./local-storage.js";
import type { Globals } from "./package.js";

/** What a document has of its browser. */
export function globalsOf(document: PageDocument): Globals {
  const { browser } = document;
  const { world, random } = browser;
  const listening = {
    addEventListener: (type: string, listener: Listener) => document.listen(type, listener),
    removeEventListener: (type: string, listener: Listener) => document.ignore(type, listener),
  };
  const page = {
    ...listening,
    get visibilityState() {
      return document.isHidden ? "hidden" : "visible";
    },
    get hidden() {
      return document.isHidden;
    },
    readyState: "complete",
    baseURI: "https://feed.test/",
  };
  const globals: Partial<Globals> = {
    ...listening,
    document: page,
    navigator: { onLine: true },
    location: { href: "https://feed.test/", origin: "https://feed.test" },
    ...(world.indexedDb !== "absent" && { indexedDB: new FakeFactory(document), IDBKeyRange: FakeKeyRange }),
    ...(world.local !== "absent" && { localStorage: localStorageOf(document) }),
    ...timersOf(document),
    Date: dateOf(browser),
    Math: Object.create(Math, Object.getOwnPropertyDescriptors({ random: () => random.next() })) as object,
    performance: { timeOrigin: BEGIN_MS, now: () => browser.nowMs - BEGIN_MS },
    crypto: { getRandomValues: <T extends ArrayLike<number>>(list: T) => fill(list, random) },
    fetch: (_: string, { body }: { body: string }) => {
      browser.count();
      browser.requests.push(body);
      browser.ledger.sent(document, body);
      return Promise.resolve(new Response());
    },
    WebAssembly: {
      ...wasmNames(),
      instantiate: (...given: Parameters<PageDocument["instantiate"]>) => document.instantiate(...given),
    },
  };
  const { TextEncoder, TextDecoder, URL, AbortController, Headers, Request, Response, queueMicrotask } = globalThis;
  const all = {
    TextEncoder,
    TextDecoder,
    URL,
    AbortController,
    Headers,
    Request,
    Response,
    queueMicrotask,
    ...globals,
  };
  return Object.assign(all, { globalThis: all, window: all, self: all }) as object as Globals;
}

function timersOf(document: PageDocument): Pick<Globals, "setTimeout" | "clearTimeout"> {
  const { browser } = document;
  return {
    setTimeout: (run: () => void, ms = 0) => {
      browser.count();
      const task = browser.after(ms, document, () => {
        document.timers.delete(task);
        run();
      });
      document.timers.add(task);
      return task;
    },
    clearTimeout: (task: unknown) => {
      document.timers.delete(task);
      browser.cancel(task);
    },
  };
}

function dateOf(browser: Browser): object {
  return class extends Date {
    static override now(): number {
      return browser.wallMs;
    }
  };
}

/** They are not own enumerable properties of the global. */
function wasmNames(): object {
  const { Module, Instance, RuntimeError, Memory, Table } = WebAssembly;
  return { Module, Instance, RuntimeError, Memory, Table };
}

function fill<T extends ArrayLike<number>>(list: T, random: Random): T {
  const numbers = list as unknown as Record<number, number>;
  for (let index = 0; index < list.length; index++) numbers[index] = Math.floor(random.next() * 2 ** 32);
  return list;
}
