/**
 * The requirements of every store: IndexedDB, a custom store with synchronous or asynchronous results, and localStorage in
 * four lines. And the guard while one method of a custom store rejects or never resolves.
 */
import type { SeenGuard, SeenStorage } from "seenguard";
import { describe, expect, test } from "vitest";
import { customStore } from "../simulation/programs/custom-store.js";
import { localStorageOf } from "../simulation/programs/local-storage.js";
import { idsOf, newBrowser, until, type Browser, type PageDocument } from "./support.js";

const stores: Record<string, (document: PageDocument) => { storage?: SeenStorage }> = {
  IndexedDB: () => ({}),
  "an app's object that answers later": (document) => ({ storage: customStore(document, () => undefined) }),
  "an app's object that answers at once": ({ browser: { custom } }) => ({
    storage: {
      keys: () => [...custom.keys()],
      get: (key) => custom.get(key),
      set: (key, value) => void custom.set(key, value),
      remove: (key) => void custom.delete(key),
    },
  }),
  "localStorage in four lines": (document) => {
    const localStorage = localStorageOf(document) as Storage;
    return {
      storage: {
        keys: () => Object.keys(localStorage),
        get: (key) => localStorage.getItem(key),
        set: (key, value) => localStorage.setItem(key, value),
        remove: (key) => localStorage.removeItem(key),
      },
    };
  },
};

describe.each(Object.entries(stores))("over %s", (name, optionsOf) => {
  const open = async (browser: Browser, namespace = "home"): Promise<{ document: PageDocument; guard: SeenGuard }> => {
    const document = browser.open();
    const guard = await until(browser, document.openGuard({ namespace, ...optionsOf(document) }));
    return { document, guard };
  };
  const clear = ({ seenguard, browser }: PageDocument, namespace: string, { storage }: { storage?: SeenStorage }) =>
    until(browser, seenguard.SeenGuard.clear(namespace, storage));

  test("i1: recorded ids are stopped on the next visit, and still pending", async () => {
    const browser = await newBrowser();
    const { document, guard } = await open(browser);
    await browser.task(() => guard.record(["a", "🦀\0", ""]));
    await until(browser, guard.close());
    document.end();
    const next = await open(browser);
    expect(next.guard.filter(["a", "🦀\0", "", "b"])).toEqual(["b"]);
    expect(next.guard.pending()).toEqual(["a", "🦀\0", ""]);
    expect([...document.errors, ...next.document.errors]).toEqual([]);
    expect(next.guard.stats().storage).toBe(name === "IndexedDB" ? "indexeddb" : "custom");
  });

  test("i6: recorded and unseen ids are stored without a call of flush", async () => {
    const browser = await newBrowser();
    const { document, guard } = await open(browser);
    await browser.task(() => guard.record(["a", "b"]));
    await browser.task(() => guard.unsee("b"));
    await browser.advance(100);
    document.end();
    expect((await open(browser)).guard.filter(["a", "b"])).toEqual(["b"]);
  });

  test("i6: impressions recorded in the task in which the page navigates are stored", async () => {
    const browser = await newBrowser();
    const { document, guard } = await open(browser);
    await browser.task(() => {
      guard.record("a");
      document.leave();
    });
    expect((await open(browser)).guard.filter(["a", "b"])).toEqual(["b"]);
  });

  test("two tabs share ids and clears", async () => {
    const browser = await newBrowser();
    const [one, two] = [await open(browser), await open(browser)];
    await browser.task(() => one.guard.record("a"));
    await browser.task(() => two.guard.record("b"));
    await browser.advance(1_000);
    for (const { guard } of [one, two]) expect(guard.filter(["a", "b", "c"])).toEqual(["c"]);
    await clear(one.document, "home", optionsOf(one.document));
    await browser.advance(1_000);
    for (const { guard } of [one, two]) expect(guard.filter(["a", "b", "c"])).toEqual(["a", "b", "c"]);
  });

  test("clear removes everything of a namespace and nothing of another", async () => {
    const browser = await newBrowser();
    for (const namespace of ["home", "home:2", "explore"]) {
      const { document, guard } = await open(browser, namespace);
      await browser.task(() => guard.record(`in ${namespace}`));
      await until(browser, guard.close());
      document.end();
    }
    const document = browser.open();
    await clear(document, "home", optionsOf(document));
    for (const namespace of ["home", "home:2", "explore"]) {
      const { guard } = await open(browser, namespace);
      expect(guard.filter([`in ${namespace}`])).toEqual(namespace === "home" ? ["in home"] : []);
    }
  });

  test("i7: hundreds of single impressions leave few keys, each of them ASCII", async () => {
    const browser = await newBrowser();
    const { document, guard } = await open(browser);
    for (const id of idsOf("id", 300)) {
      await browser.task(() => guard.record(id));
      await browser.advance(20);
    }
    document.end();
    const { custom, rows, local } = browser;
    const entries = [...custom, ...rows, ...local].filter(([key]) => key.includes("/r/"));
    expect(entries.length).toBeLessThanOrEqual(20);
    for (const [key, value] of entries) expect(key + value).toMatch(/^[\x20-\x7e]*$/);
    expect((await open(browser)).guard.filter([...idsOf("id", 300), "b"])).toEqual(["b"]);
  });
});

describe("while a method of an app's object", () => {
  const methods = ["keys", "get", "set", "remove"] as const;
  const ways = {
    rejects: () => Promise.reject(new Error("no disk")),
    throws: () => {
      throw new Error("no disk");
    },
    "never answers": () => new Promise<never>(() => {}),
  };
  for (const method of methods)
    for (const [way, answer] of Object.entries(ways))
      test(`i5: ${method} ${way}, the guard works, and stores everything afterwards`, async () => {
        const browser = await newBrowser();
        const first = browser.open();
        const stored = customStore(first, () => undefined);
        const early = await until(browser, first.openGuard({ storage: stored }));
        await browser.task(() => early.record("early"));
        await until(browser, early.close());
        const document = browser.open();
        const storage = { ...customStore(document, () => undefined), [method]: answer };
        const guard = await until(browser, document.openGuard({ storage }));
        await browser.task(() => guard.record(["a", "b"]));
        await browser.advance(30_000);
        expect(guard.filter(["a", "b", "c"])).toEqual(["c"]);
        expect(new Set(document.errors.map(({ code }) => code)).size).toBeLessThanOrEqual(1);
        expect(document.errors.length).toBeLessThanOrEqual(1);
        Object.assign(
          storage,
          customStore(document, () => undefined),
        );
        await browser.advance(70_000);
        document.end();
        const next = browser.open();
        const later = await until(browser, next.openGuard({ storage: customStore(next, () => undefined) }));
        expect(later.filter(["early", "a", "b", "c"])).toEqual(["c"]);
        expect(later.stats().storage).toBe("custom");
      });

  test("i5: never resolves, close resolves within two seconds and leaves no timer", async () => {
    const browser = await newBrowser();
    const document = browser.open();
    const silent = () => new Promise<never>(() => {});
    const storage = { keys: silent, get: silent, set: silent, remove: silent };
    const guard = await until(browser, document.openGuard({ storage }));
    await browser.task(() => guard.record("a"));
    const closed = { is: false };
    await browser.task(() => void guard.close().then(() => (closed.is = true)));
    await browser.advance(2_000);
    expect(closed.is).toBe(true);
    expect(browser.timersOf(document)).toBe(0);
  });
});
