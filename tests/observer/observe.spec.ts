/** `observe` of a guard on a page: its recordings, their ids, its roots, and its end. */
import type { Page } from "@playwright/test";
import { codes, expect, fresh, NAMESPACE, openGuard, test } from "../support/chromium.js";

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

/** Resolves when the browser has drawn two frames, and observers were notified of them. */
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
    const reported = page.evaluate(
      () =>
        new Promise<string>((resolve) => {
          const element = document.querySelector("[data-seen-id]");
          if (element !== null) window.guard.observeItem(element, 17, { dwellMs: 10, onImpression: resolve });
        }),
    );
    expect(await reported).toBe("17");
    expect(await page.evaluate(() => window.guard.pending())).toEqual(["17"]);
  });

  test("records all ids of an item that has several, and only its own if the app's function throws", async ({
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
      window.guard.observeItem(element, [8, "copy", null as unknown as string], { dwellMs: 50 });
    });
    await expect
      .poll(() => page.evaluate(() => window.guard.pending().sort()))
      .toEqual(["7", "8", "DIV", "broken", "copy", "repost"]);
    expect(uncaught).toEqual(["not loaded yet"]);
  });

  test("of a value that is not an element observes and throws nothing, and reports each misuse once", async ({
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
        guard.observeItem(null as unknown as Element, "a")();
        guard.observeItem(new DocumentFragment() as unknown as Element, "a")();
        for (const id of [undefined, null, [], 0.5]) guard.observeItem(document.body, id as unknown as string)();
      }
      return messages.sort();
    });
    const END = "(https://seenguard.example/errors.html#misuse)";
    const ofNode = (takes: string) => (given: string) =>
      `misuse: ${takes} that exists already; this one ${given} ${END}`;
    const ofRoot = ofNode("observe takes an element, a document or a shadow root");
    const ofItem = ofNode("observeItem takes an element");
    const ofId = (given: string) =>
      `misuse: observeItem takes the id of an item, a string, a bigint or a safe integer; this one ${given}, ` +
      `so nothing is observed ${END}`;
    expect(messages).toEqual(
      [
        ...["is null", "is undefined", "is string", "has no keys", "has the keys nodeType, host"].map(ofRoot),
        ...["is null", "has no keys"].map(ofItem),
        ...["is undefined", "is null", "is an array", "is number"].map(ofId),
      ].sort(),
    );
  });

  test("finds the items of a document, of an open shadow root and of a closed one that is passed", async ({
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

  test("ends with its own stop, a signal, and the close of its guard, while another continues", async ({ reader }) => {
    const page = await reader.openGuardedPage({ storage: "none" });
    await page.evaluate(async (namespace) => {
      const onImpression = (id: string) => (document.title += `${id} `);
      const observe = (guard: Window["guard"], list: string, signal: AbortSignal | null = null) => {
        const root = document.createElement("div");
        root.className = list;
        document.body.append(root);
        return guard.observe(root, { dwellMs: 50, onImpression, signal });
      };
      document.title = "";
      const other = await window.Seenguard.SeenGuard.open({ namespace, storage: "none" });
      observe(other, "closed");
      observe(window.guard, "stopped")();
      const controller = new AbortController();
      observe(window.guard, "aborted", controller.signal);
      window.guard.observeItem(document.body, "aborted item", { dwellMs: 50, signal: controller.signal });
      controller.abort();
      observe(window.guard, "aborted-before", controller.signal);
      observe(window.guard, "going-on", new AbortController().signal);
      await other.close();
      observe(other, "closed-before");
      for (const list of ["closed", "stopped", "aborted", "aborted-before", "closed-before", "going-on"]) {
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
