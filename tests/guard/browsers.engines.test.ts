/** The guard in another engine than Chromium: windows see each other, reloads keep, storage is denied and full. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { codes, flush, fresh, idsOf, NAMESPACE, openGuard, record, stats, type PageOptions } from "../support/pages.js";
import { readAndReturn, serveApp } from "../feed/router-app.js";
import { documentOf, Site } from "../support/site.js";
import { startFirefoxEngine, startWebKitEngine, type Engine, type EngineWindow } from "../support/engine.js";

describe.each([
  { name: "Firefox", start: startFirefoxEngine },
  { name: "WebKitGTK", start: startWebKitEngine },
])("in $name", ({ start }) => {
  let engine: Engine;
  let site: Site;

  beforeAll(async () => {
    site = await Site.start();
    engine = await start();
  });

  afterAll(async () => {
    await engine.end();
    await site.close();
  });

  /** A window with a guard in it, closed when the test is over. */
  async function visit(options: PageOptions = {}): Promise<EngineWindow> {
    const tab = await engine.newWindow();
    onTestFinished(() => tab.close());
    await tab.open(site.origin);
    await openGuard(tab, options);
    return tab;
  }

  test("windows see each other's impressions without a reload, and a later one all of them", async () => {
    const options = { namespace: "home:seen" };
    const [one, two] = [await visit(options), await visit(options)];
    expect(await stats(one)).toMatchObject({ engine: "wasm", storage: "indexeddb" });
    await record(one, ["of one"]);
    await expect.poll(() => fresh(two, ["of one", "new"])).toEqual(["new"]);
    await record(two, ["of two"]);
    await expect.poll(() => fresh(one, ["of two", "new"])).toEqual(["new"]);
    const three = await visit(options);
    expect(await fresh(three, ["of one", "of two", "new"])).toEqual(["new"]);
    await record(three, ["of three"]);
    await expect.poll(() => fresh(one, ["of three", "new"])).toEqual(["new"]);
    for (const tab of [one, two, three]) expect(await codes(tab)).toEqual([]);
  });

  test("two windows that record 500 ids each lose none", async () => {
    const options = { namespace: "home:many" };
    const windows = [await visit(options), await visit(options)];
    await Promise.all(
      windows.map((tab, index) =>
        tab.evaluate(
          (prefix) => {
            let number = 0;
            // A window behind another has slow timers, but messages as fast as ever.
            const channel = new MessageChannel();
            channel.port1.onmessage = () => {
              for (let several = 0; several < 5; several++) window.guard.record(`${prefix}-${String(number++)}`);
              if (number < 500) channel.port2.postMessage(undefined);
            };
            channel.port2.postMessage(undefined);
          },
          `window-${String(index)}`,
        ),
      ),
    );
    const all = [...idsOf("window-0", 500), ...idsOf("window-1", 500)];
    for (const tab of windows) await expect.poll(() => fresh(tab, all)).toEqual([]);
    for (const tab of windows) await flush(tab);
    const later = await visit(options);
    expect(await fresh(later, [...all, "new"])).toEqual(["new"]);
  });

  test("a reload in the middle of a burst loses nothing", async () => {
    const options = { namespace: "home:reload" };
    const tab = await visit(options);
    let recorded = 0;
    for (let again = 0; again < 4; again++) {
      await tab.evaluate((first) => {
        let next = first;
        const channel = new MessageChannel();
        channel.port1.onmessage = () => {
          window.guard.record(`id-${String(next++)}`);
          localStorage.setItem("recorded", String(next));
          if (next - first < 2000) channel.port2.postMessage(undefined);
        };
        channel.port2.postMessage(undefined);
      }, recorded);
      await tab.reload();
      recorded = Number(await tab.evaluate(() => localStorage.getItem("recorded")));
      await openGuard(tab, options);
      expect(await fresh(tab, [...idsOf("id", recorded), "new"])).toEqual(["new"]);
    }
    expect(recorded).toBeGreaterThan(4);
  });

  test("one window clears for all", async () => {
    const [one, two] = [await visit(), await visit()];
    await record(one, ["a"]);
    await expect.poll(() => fresh(two, ["a"])).toEqual([]);
    await two.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
    await expect.poll(() => fresh(one, ["a"])).toEqual(["a"]);
    await one.reload();
    await openGuard(one);
    expect(await fresh(one, ["a"])).toEqual(["a"]);
  });

  test("a frame that is denied storage has a guard that works without it", async () => {
    site.documents.set("/framing", documentOf("framing", '<iframe sandbox="allow-scripts" src="/framed"></iframe>'));
    const tab = await visit();
    await tab.open(`${site.origin}/framing`);
    await openGuard(tab.frame);
    expect(await stats(tab.frame)).toMatchObject({ engine: "wasm", storage: "unavailable" });
    await record(tab.frame, ["a"]);
    await flush(tab.frame);
    expect(await fresh(tab.frame, ["a", "b"])).toEqual(["b"]);
    expect(new Set(await codes(tab.frame))).toEqual(new Set(["storage"]));
  });

  test("an app that keeps its items shows the same list at the same place, the item just read included", async () => {
    const apps = await Site.start();
    onTestFinished(() => apps.close());
    serveApp(apps);
    const tab = await engine.newWindow();
    onTestFinished(() => tab.close());
    const { before, after, reloaded, later } = await readAndReturn(tab, apps);
    expect(before).toMatchObject({ route: "list", scroll: 2100 });
    expect(before.ids).toHaveLength(40);
    for (const [how, view] of Object.entries(after)) expect(view, how).toEqual(before);
    for (const { ids } of [reloaded, later]) {
      expect(ids.length).toBeLessThan(40);
      expect(ids).not.toContain("article-7");
    }
  });

  /** Fills localStorage to the last character. */
  async function fillLocal(tab: EngineWindow): Promise<void> {
    await tab.evaluate(() => {
      for (let size = 1 << 21; size >= 1; size >>= 1) {
        try {
          for (let part = 0; ; part++)
            localStorage.setItem(`filling-${String(size)}-${String(part)}`, "x".repeat(size));
        } catch {
          // A smaller piece may still fit.
        }
      }
    });
  }

  /** Opens a guard over a store of the app's own in localStorage, which every browser lets fill up. */
  async function openOverLocal(tab: EngineWindow): Promise<void> {
    await tab.evaluate(async () => {
      window.codes = [];
      window.guard = await Seenguard.SeenGuard.open({
        namespace: "home:full",
        onError: ({ code }) => window.codes.push(code),
        storage: {
          get: (key) => localStorage.getItem(key),
          set: (key, value) => localStorage.setItem(key, value),
          remove: (key) => localStorage.removeItem(key),
          keys: () => Object.keys(localStorage),
        },
      });
    });
  }

  test("a store over localStorage that is full is reported, and saves what is new when there is room", async () => {
    const tab = await engine.newWindow();
    onTestFinished(() => tab.close());
    await tab.open(site.origin);
    await openOverLocal(tab);
    await record(tab, ["early"]);
    await flush(tab);
    await fillLocal(tab);
    await record(tab, ["while full"]);
    await flush(tab);
    expect((await stats(tab)).storage).toBe("full");
    expect(await codes(tab)).toEqual(["storage"]);
    expect(await fresh(tab, ["early", "while full", "new"])).toEqual(["new"]);
    await tab.evaluate(() => {
      for (const key of Object.keys(localStorage)) if (key.startsWith("filling")) localStorage.removeItem(key);
    });
    await expect.poll(async () => (await stats(tab)).storage, { timeout: 20_000 }).toBe("custom");
    await tab.reload();
    await openOverLocal(tab);
    expect(await fresh(tab, ["early", "while full", "new"])).toEqual(["new"]);
  });
});
