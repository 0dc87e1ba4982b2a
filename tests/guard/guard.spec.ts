/** A guard on a page: without an engine, observing, opened twice, closed, and its fetch. */
import type { Page } from "@playwright/test";
import { codes, expect, fresh, NAMESPACE, openGuard, record, test } from "../support/chromium.js";

/** Uncaught errors of a page, as they come. */
function uncaughtOf(page: Page): string[] {
  const messages: string[] = [];
  page.on("pageerror", ({ message }) => messages.push(message));
  return messages;
}

async function expectEverythingPasses(page: Page): Promise<void> {
  expect(await codes(page)).toEqual(["engine"]);
  await record(page, ["a"]);
  expect(await fresh(page, ["a", "b", "a"])).toEqual(["a", "b"]);
  const said = await page.evaluate(() => ({
    applied: window.guard.apply({ version: 1, shards: [] }),
    feed: window.guard.feed().filter(["a", "a", "b"]),
    engine: window.guard.stats().engine,
  }));
  expect(said).toMatchObject({ applied: { applied: false, reason: "no-engine" }, feed: ["a", "b"], engine: "none" });
  expect(await codes(page)).toEqual(["engine"]);
}

test.describe("without an engine, as without the second script tag, everything passes, which is reported once:", () => {
  test("i5: where there is no WebAssembly", async ({ reader }) => {
    await reader.context.addInitScript(() => Reflect.deleteProperty(globalThis, "WebAssembly"));
    const page = await reader.openPage();
    const uncaught = uncaughtOf(page);
    await openGuard(page);
    await expectEverythingPasses(page);
    await page.evaluate(() => window.guard.close());
    expect(uncaught).toEqual([]);
  });

  test.describe("under a strict Content-Security-Policy", () => {
    test.use({ headers: { "content-security-policy": "script-src 'self'" } });

    test("i5: which forbids compiling", async ({ reader }) => {
      const page = await reader.openPage();
      const uncaught = uncaughtOf(page);
      await openGuard(page);
      await expectEverythingPasses(page);
      expect(uncaught).toEqual([]);
    });
  });
});

/** Puts items on the page, each a screen's third high. */
async function show(page: Page, ids: string[], list = "list"): Promise<void> {
  await page.evaluate(
    ([given, className]) => {
      const element = document.createElement("div");
      element.className = className;
      for (const id of given) {
        const item = document.createElement("div");
        item.dataset.seenId = id;
        item.style.height = "33vh";
        element.append(item);
      }
      document.body.append(element);
    },
    [ids, list] as const,
  );
}

/** Resolves when the browser has drawn two frames, and told observers of them. */
async function drawn(page: Page): Promise<void> {
  for (let frames = 0; frames < 2; frames++)
    await page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const observer = new IntersectionObserver(() => {
            observer.disconnect();
            resolve();
          });
          observer.observe(document.documentElement);
        }),
    );
}

test.describe("observing", () => {
  test("records items that come into view, and stops them after a reload", async ({ reader }) => {
    const page = await reader.openGuardedPage();
    await show(page, ["a", "b", "c", "d", "e", "f"]);
    await page.evaluate(() => {
      window.guard.observe(document.body, { dwellMs: 50 });
    });
    await expect.poll(() => page.evaluate(() => window.guard.pending().sort())).toEqual(["a", "b", "c"]);
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await expect.poll(() => page.evaluate(() => window.guard.pending().sort())).toEqual(["a", "b", "c", "d", "e", "f"]);
    await page.evaluate(() => window.guard.flush());
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "b", "c", "d", "e", "f", "g"])).toEqual(["g"]);
  });

  test("by default an item counts when half of it is in view for a second", async ({ reader }) => {
    const page = await reader.openGuardedPage({ storage: "none" });
    await page.clock.install({ time: 0 });
    await page.clock.pauseAt(60_000);
    // Of the last one less than half is in view.
    await show(page, ["a", "b", "c"]);
    await page.addStyleTag({ content: ".list { padding-top: 18vh }" });
    await page.evaluate(() => window.guard.observe(document.body));
    const pendingAfter = async (ms: number) => {
      await drawn(page);
      await page.clock.runFor(ms);
      await drawn(page);
      return page.evaluate(() => window.guard.pending());
    };
    expect(await pendingAfter(999)).toEqual([]);
    expect(await pendingAfter(1)).toEqual(["a", "b"]);
    expect(await pendingAfter(5_000)).toEqual(["a", "b"]);
  });

  test("one element by a ref records its id, also a number, and calls the app", async ({ reader }) => {
    const page = await reader.openGuardedPage({ storage: "none" });
    await show(page, ["a"]);
    const told = page.evaluate(
      () =>
        new Promise<string>((resolve) => {
          const element = document.querySelector("[data-seen-id]");
          if (element !== null) window.guard.observe(element, { id: 17, dwellMs: 10, onImpression: resolve });
        }),
    );
    expect(await told).toBe("17");
    expect(await page.evaluate(() => window.guard.pending())).toEqual(["17"]);
  });

  test("records all ids of an item that has several, and its own if the app cannot name the others", async ({
    reader,
  }) => {
    const page = await reader.openGuardedPage({ storage: "none" });
    const uncaught: string[] = [];
    page.on("pageerror", ({ message }) => uncaught.push(message));
    await show(page, ["repost", "broken"]);
    await page.evaluate(() => {
      const idsOf = (id: string, element: Element) => {
        if (id === "broken") throw new Error("not loaded yet");
        return [id, element.tagName, 7];
      };
      window.guard.observe(document.body, { dwellMs: 50, idsOf });
      const element = document.body.appendChild(document.createElement("div"));
      element.style.height = "20px";
      document.body.prepend(element);
      window.guard.observe(element, { id: [8, "copy", null as unknown as string], dwellMs: 50 });
      window.guard.observe(element, { id: [], dwellMs: 50 });
    });
    await expect
      .poll(() => page.evaluate(() => window.guard.pending().sort()))
      .toEqual(["7", "8", "DIV", "broken", "copy", "repost"]);
    expect(uncaught).toEqual(["not loaded yet"]);
  });

  test("of a value that is no element observes and throws nothing, and reports each misuse once", async ({
    reader,
  }) => {
    const page = await reader.openPage();
    const messages = await page.evaluate(async () => {
      const messages: string[] = [];
      const onError = ({ code, message }: Error & { code: string }) => messages.push(`${code}: ${message}`);
      const guard = await window.Seenguard.SeenGuard.open({ namespace: "home:ada", storage: "none", onError });
      for (let render = 0; render < 3; render++) {
        for (const root of [null, undefined, "body", {}, new DocumentFragment(), { nodeType: 11, host: undefined }])
          guard.observe(root as unknown as Element)();
        guard.observe(null as unknown as Element, { id: "a" })();
      }
      return messages.sort();
    });
    const told = (given: string, takes = "takes an element, a document or a shadow root") =>
      `misuse: observe ${takes} that is there already; what it was given ${given} (docs/errors.md#misuse)`;
    expect(messages).toEqual(
      [
        told("is null"),
        told("is null", "with an `id` takes an element"),
        told("is undefined"),
        told("is string"),
        told("has no keys"),
        told("has the keys nodeType, host"),
      ].sort(),
    );
  });

  test("finds the items of a document, of an open shadow root and of a closed one that is given", async ({
    reader,
  }) => {
    const page = await reader.openGuardedPage({ storage: "none" });
    await page.evaluate(() => {
      const add = (parent: ParentNode, id: string) => {
        const item = document.createElement("div");
        item.dataset.seenId = id;
        item.style.height = "20px";
        parent.append(item);
      };
      const shadowOf = (mode: "open" | "closed") => {
        const host = document.createElement("div");
        document.body.append(host);
        return host.attachShadow({ mode });
      };
      const [open, another, closed] = [shadowOf("open"), shadowOf("open"), shadowOf("closed")];
      add(document.body, "in-document");
      add(open, "in-open");
      add(another, "in-another");
      add(closed, "in-closed");
      for (const root of [document, open.host, another, closed]) window.guard.observe(root, { dwellMs: 50 });
      add(open, "later");
      add(open.host, "slotted-nowhere");
    });
    await expect
      .poll(() => page.evaluate(() => window.guard.pending().sort()))
      .toEqual(["in-another", "in-closed", "in-document", "in-open", "later"]);
    expect(await codes(page)).toEqual([]);
  });

  test("ends with its own stop, and with the guard that is closed, while another goes on", async ({ reader }) => {
    const page = await reader.openGuardedPage({ storage: "none" });
    await page.evaluate(async (namespace) => {
      const observe = (guard: Window["guard"], list: string) => {
        const root = document.createElement("div");
        root.className = list;
        document.body.append(root);
        return guard.observe(root, { dwellMs: 50, onImpression: (id) => (document.title += `${id} `) });
      };
      document.title = "";
      const other = await window.Seenguard.SeenGuard.open({ namespace, storage: "none" });
      observe(other, "closed");
      observe(window.guard, "stopped")();
      observe(window.guard, "going-on");
      await other.close();
      observe(other, "closed-before");
      for (const list of ["closed", "stopped", "closed-before", "going-on"]) {
        const item = document.createElement("div");
        item.dataset.seenId = list;
        item.style.height = "20vh";
        document.querySelector(`.${list}`)?.append(item);
      }
    }, NAMESPACE);
    await expect.poll(() => page.evaluate(() => window.guard.pending())).toContain("going-on");
    // The others came into view before it.
    expect(await page.evaluate(() => window.guard.pending())).toEqual(["going-on"]);
    expect(await page.title()).toBe("going-on");
  });
});

test.describe("in one document", () => {
  test("i6: opening, closing and opening at once, as StrictMode does, is one guard that works and keeps", async ({
    reader,
  }) => {
    const page = await reader.openPage();
    const uncaught = uncaughtOf(page);
    const result = await page.evaluate(async (namespace) => {
      const told: string[] = [];
      const open = () =>
        window.Seenguard.SeenGuard.open({ namespace, onError: ({ code }: { code: string }) => told.push(code) });
      const first = open();
      const closing = first.then((guard) => guard.close());
      const second = await open();
      await closing;
      second.record("a");
      const seen = second.explain("a").seen;
      await second.close();
      const third = await open();
      return { seen, kept: third.filter(["a", "b"]), told };
    }, NAMESPACE);
    expect(result).toEqual({ seen: true, kept: ["b"], told: [] });
    expect(uncaught).toEqual([]);
  });
});

test.describe("fetch in place of window.fetch", () => {
  test("asks a host that refuses the preflight once more without the headers, and then never with them", async ({
    reader,
  }) => {
    const page = await reader.openGuardedPage();
    const methods: string[] = [];
    const api = "https://api.test";
    await page.route(`${api}/**`, async (route) => {
      const request = route.request();
      methods.push(request.method());
      const isRefused = "seen-pending" in (await request.allHeaders());
      if (isRefused) await route.abort("failed");
      else await route.fulfill({ json: [], headers: { "access-control-allow-origin": "*" } });
    });
    const answers = await page.evaluate(async (address) => {
      const guarded = window.guard.fetch({ match: new URL(address) });
      return [await (await guarded(`${address}/1`)).json(), await (await guarded(`${address}/2`)).json()] as unknown[];
    }, api);
    expect(answers).toEqual([[], []]);
    expect(methods.filter((method) => method === "GET")).toHaveLength(4);
  });
});
