/** The guard in other browser engines than Chromium: several windows, reloads, denied storage. */
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { codes, flush, fresh, idsOf, NAMESPACE, openGuard, record, stats, type PageOptions } from "../support/pages.js";
import { readAndReturn, serveApp } from "../feed/router-app.js";
import { documentOf, Site } from "../support/site.js";
import { startFirefoxEngine, startWebKitEngine, type Engine, type EngineWindow } from "../support/engine.js";

describe.each([
  { name: "Firefox", start: startFirefoxEngine },
  { name: "WebKitGTK", start: startWebKitEngine },
])("in $name", ({ name, start }) => {
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

  test("windows share impressions without a reload, and a later window has all of them", async () => {
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

  // Firefox gives each file an origin of its own.
  test.runIf(name === "WebKitGTK")("a page that is a file stores its impressions", async () => {
    const directory = await mkdtemp(join(tmpdir(), "seenguard-file-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const page = join(directory, "index.html");
    await writeFile(page, documentOf("a file").replace("/dist/", ""));
    await copyFile(new URL("../../dist/seenguard.iife.js", import.meta.url), join(directory, "seenguard.iife.js"));
    const tab = await engine.newWindow();
    onTestFinished(() => tab.close());
    for (const passing of [["a", "b"], ["b"]]) {
      await tab.open(pathToFileURL(page).href);
      await openGuard(tab);
      expect(await stats(tab)).toMatchObject({ engine: "wasm", storage: "indexeddb" });
      expect(await fresh(tab, ["a", "b"])).toEqual(passing);
      await record(tab, ["a"]);
      await flush(tab);
      expect(await codes(tab)).toEqual([]);
    }
  });

  test("a clear in one window applies to all", async () => {
    const [one, two] = [await visit(), await visit()];
    await record(one, ["a"]);
    await expect.poll(() => fresh(two, ["a"])).toEqual([]);
    await two.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
    await expect.poll(() => fresh(one, ["a"])).toEqual(["a"]);
    await one.reload();
    await openGuard(one);
    expect(await fresh(one, ["a"])).toEqual(["a"]);
  });

  test("a guard works in a frame that is denied storage", async () => {
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

  test("an app that stores its items shows the same list at the same scroll position, the item just read included", async () => {
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
});
