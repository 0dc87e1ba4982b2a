/** The guard in another engine than Chromium: windows see each other, reloads keep, storage is denied and full. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  codes,
  flush,
  fresh,
  idsOf,
  NAMESPACE,
  openGuard,
  record,
  stats,
  type PageOptions,
} from "../conditions/pages.js";
import { documentOf, Site } from "../conditions/site.js";
import type { Engine, EngineWindow } from "./engine.js";

export function testEngine(name: string, start: () => Promise<Engine>): void {
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
  async function visit(options: PageOptions): Promise<EngineWindow> {
    const window = await engine.newWindow();
    onTestFinished(() => window.close());
    await window.open(site.origin);
    await openGuard(window, options);
    return window;
  }

  describe.each(["indexeddb", "local"] as const)(`${name}, with %s`, (storage) => {
    test("windows see each other's impressions without a reload, and a later one all of them", async () => {
      const options = { storage, namespace: `seen:${storage}` };
      const [one, two] = [await visit(options), await visit(options)];
      expect(await stats(one)).toMatchObject({ engine: "wasm", storage });
      await record(one, ["of one"]);
      await expect.poll(() => fresh(two, ["of one", "new"])).toEqual(["new"]);
      await record(two, ["of two"]);
      await expect.poll(() => fresh(one, ["of two", "new"])).toEqual(["new"]);
      const three = await visit(options);
      expect(await fresh(three, ["of one", "of two", "new"])).toEqual(["new"]);
      await record(three, ["of three"]);
      await expect.poll(() => fresh(one, ["of three", "new"])).toEqual(["new"]);
      for (const window of [one, two, three]) expect(await codes(window)).toEqual([]);
    });

    test("two windows that record 500 ids each lose none", async () => {
      const options = { storage, namespace: `many:${storage}` };
      const windows = [await visit(options), await visit(options)];
      await Promise.all(
        windows.map((window, index) =>
          window.evaluate(
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
      for (const window of windows) await expect.poll(() => fresh(window, all)).toEqual([]);
      for (const window of windows) await flush(window);
      const later = await visit(options);
      expect(await fresh(later, [...all, "new"])).toEqual(["new"]);
    });

    test("a reload in the middle of a burst loses nothing", async () => {
      const options = { storage, namespace: `reload:${storage}` };
      const window = await visit(options);
      let recorded = 0;
      for (let again = 0; again < 4; again++) {
        await window.evaluate((first) => {
          let next = first;
          const channel = new MessageChannel();
          channel.port1.onmessage = () => {
            window.guard.record(`id-${String(next++)}`);
            localStorage.setItem("recorded", String(next));
            if (next - first < 2000) channel.port2.postMessage(undefined);
          };
          channel.port2.postMessage(undefined);
        }, recorded);
        await window.reload();
        recorded = Number(await window.evaluate(() => localStorage.getItem("recorded")));
        await openGuard(window, options);
        expect(await fresh(window, [...idsOf("id", recorded), "new"])).toEqual(["new"]);
      }
      expect(recorded).toBeGreaterThan(4);
    });

    test("one window clears for all", async () => {
      const options = { storage, namespace: NAMESPACE };
      const [one, two] = [await visit(options), await visit(options)];
      await record(one, ["a"]);
      await expect.poll(() => fresh(two, ["a"])).toEqual([]);
      await two.evaluate((namespace) => Seenguard.SeenGuard.clear(namespace), NAMESPACE);
      await expect.poll(() => fresh(one, ["a"])).toEqual(["a"]);
      await one.reload();
      await openGuard(one, options);
      expect(await fresh(one, ["a"])).toEqual(["a"]);
    });

    test("a frame that is denied storage has a guard that works without it", async () => {
      site.documents.set("/framing", documentOf("framing", '<iframe sandbox="allow-scripts" src="/framed"></iframe>'));
      const window = await visit({ storage });
      await window.open(`${site.origin}/framing`);
      await openGuard(window.frame, { storage });
      expect(await stats(window.frame)).toMatchObject({ engine: "wasm", storage: "unavailable" });
      await record(window.frame, ["a"]);
      await flush(window.frame);
      expect(await fresh(window.frame, ["a", "b"])).toEqual(["b"]);
      expect(new Set(await codes(window.frame))).toEqual(new Set(["storage"]));
    });
  });

  test(`${name}: localStorage that is full is said to be, and takes what is new when there is room again`, async () => {
    const options = { storage: "local", namespace: "full:local" } as const;
    const window = await visit(options);
    await record(window, ["early"]);
    await window.evaluate(() => {
      for (let size = 1 << 21; size >= 1; size >>= 1) {
        try {
          for (let part = 0; ; part++)
            localStorage.setItem(`filling-${String(size)}-${String(part)}`, "x".repeat(size));
        } catch {
          // A smaller piece may still fit.
        }
      }
    });
    await record(window, ["while full"]);
    await flush(window);
    expect((await stats(window)).storage).toBe("full");
    expect(await codes(window)).toEqual(["storage-full"]);
    expect(await fresh(window, ["early", "while full", "new"])).toEqual(["new"]);
    await window.evaluate(() => {
      for (const key of Object.keys(localStorage)) if (key.startsWith("filling")) localStorage.removeItem(key);
    });
    await expect.poll(async () => (await stats(window)).storage, { timeout: 20_000 }).toBe("local");
    await window.reload();
    await openGuard(window, options);
    expect(await fresh(window, ["early", "while full", "new"])).toEqual(["new"]);
  });
}
