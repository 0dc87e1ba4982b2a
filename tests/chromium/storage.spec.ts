/** What a browser keeps across visits, and what happens where it keeps nothing. */
import type { Page } from "@playwright/test";
import { codes, expect, fresh, NAMESPACE, openGuard, record, SITE, storageOf, test } from "./support.js";

/** Makes localStorage so full that nothing more fits. */
async function fillLocalStorage(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (let size = 2 ** 22; size >= 1; size = Math.floor(size / 2)) {
      for (let more = 0; more < 4; more++) {
        try {
          localStorage.setItem(`ballast-${String(size)}-${String(more)}`, "x".repeat(size));
        } catch {
          break;
        }
      }
    }
  });
}

for (const storage of [undefined, "indexeddb", "local"] as const) {
  test.describe(`with ${storage === undefined ? "the default storage" : `the storage "${storage}"`}`, () => {
    const options = storage === undefined ? {} : { storage };

    test("i1: recorded ids are still stopped after a reload, and still pending", async ({ reader }) => {
      const page = await reader.openGuardedPage(options);
      expect(await storageOf(page)).toBe(storage ?? "indexeddb");
      await record(page, ["a", "🦀\0", ""]);
      await page.reload();
      await openGuard(page, options);
      expect(await fresh(page, ["a", "🦀\0", "", "b"])).toEqual(["b"]);
      expect(await page.evaluate(() => window.guard.pending())).toEqual(["a", "🦀\0", ""]);
      expect(await codes(page)).toEqual([]);
    });

    test("ids recorded before the page was closed are stopped in the next one", async ({ reader }) => {
      const page = await reader.openGuardedPage(options);
      await page.evaluate(async () => {
        window.guard.record("a");
        await window.guard.close();
      });
      await page.close();
      expect(await fresh(await reader.openGuardedPage(options), ["a", "b"])).toEqual(["b"]);
    });

    test("another namespace knows nothing of it", async ({ reader }) => {
      const page = await reader.openGuardedPage(options);
      await record(page, ["a"]);
      await page.reload();
      await openGuard(page, { ...options, namespace: "home:reader-2" });
      expect(await fresh(page, ["a"])).toEqual(["a"]);
    });

    test("clear deletes impressions, and later ones are kept", async ({ reader }) => {
      const page = await reader.openGuardedPage(options);
      await record(page, ["before"]);
      await page.evaluate(([namespace, place]) => window.Seenguard.SeenGuard.clear(namespace, place ?? undefined), [
        NAMESPACE,
        storage ?? null,
      ] as const);
      expect(await fresh(page, ["before"])).toEqual(["before"]);
      await record(page, ["after"]);
      await page.reload();
      await openGuard(page, options);
      expect(await fresh(page, ["before", "after"])).toEqual(["before"]);
    });
  });
}

test('with the storage "none" nothing is kept, and nothing is wrong', async ({ reader }) => {
  const page = await reader.openGuardedPage({ storage: "none" });
  await record(page, ["a"]);
  expect(await storageOf(page)).toBe("none");
  expect(await page.evaluate(async () => [localStorage.length, (await indexedDB.databases()).length])).toEqual([0, 0]);
  await page.reload();
  await openGuard(page, { storage: "none" });
  expect(await fresh(page, ["a"])).toEqual(["a"]);
});

test("clear always leaves the number of the clear and the day", async ({ reader }) => {
  const page = await reader.openPage();
  await page.evaluate((namespace) => window.Seenguard.SeenGuard.clear(namespace), NAMESPACE);
  const left = await page.evaluate(() => Object.entries<string>(localStorage).sort());
  expect(left).toEqual([
    [`seenguard-signal/${NAMESPACE}`, expect.stringMatching(/^\w{11}\.\w{8}$/)],
    [expect.stringMatching(new RegExp(`^seenguard/${NAMESPACE}/\\w{11}/m$`)), String(Math.floor(Date.now() / 864e5))],
  ]);
});

test.describe("where storage is denied, as in a sandboxed frame,", () => {
  for (const storage of ["indexeddb", "local"] as const) {
    test(`the guard works, and says that "${storage}" is not to be had`, async ({ reader }) => {
      const page = await reader.openPage();
      await page.evaluate((url) => {
        const frame = document.createElement("iframe");
        frame.sandbox.add("allow-scripts");
        frame.src = url;
        document.body.append(frame);
      }, `${SITE}/framed`);
      await expect
        .poll(() => page.frame({ url: `${SITE}/framed` })?.evaluate(() => typeof window.Seenguard))
        .toBe("object");
      const frame = page.frame({ url: `${SITE}/framed` });
      if (frame === null) throw new Error("the frame is gone");
      await openGuard(frame, { storage });
      await record(frame, ["a"]);
      expect(await fresh(frame, ["a", "b"])).toEqual(["b"]);
      expect(await storageOf(frame)).toBe("unavailable");
      expect(new Set(await codes(frame))).toEqual(new Set(["storage"]));
      await frame.evaluate((namespace) => window.Seenguard.SeenGuard.clear(namespace), NAMESPACE);
      expect(await fresh(frame, ["a"])).toEqual(["a"]);
    });
  }
});

test.describe("where IndexedDB is not to be had", () => {
  test("i5: localStorage takes its place, which is reported, and clear reaches it", async ({ reader }) => {
    await reader.context.addInitScript(() => {
      IDBFactory.prototype.open = () => {
        throw new DOMException("not here", "SecurityError");
      };
    });
    const page = await reader.openGuardedPage();
    expect(await storageOf(page)).toBe("local");
    expect(await codes(page)).toEqual(["storage"]);
    await record(page, ["a"]);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
    await page.evaluate((namespace) => window.Seenguard.SeenGuard.clear(namespace), NAMESPACE);
    await page.reload();
    await openGuard(page);
    expect(await fresh(page, ["a"])).toEqual(["a"]);
  });

  test("and localStorage neither, the guard works without", async ({ reader }) => {
    await reader.context.addInitScript(() => {
      Reflect.deleteProperty(window, "indexedDB");
      Reflect.deleteProperty(window, "localStorage");
    });
    const page = await reader.openGuardedPage();
    await record(page, ["a"]);
    expect(await fresh(page, ["a", "b"])).toEqual(["b"]);
    expect(await storageOf(page)).toBe("unavailable");
  });

  test("for a while, open goes on without it, and nothing is lost in the end", async ({ reader }) => {
    const before = await reader.openGuardedPage();
    await record(before, ["earlier"]);
    await before.close();
    await reader.context.addInitScript(() => {
      const answers = new Promise<void>((resolve) => {
        window.letStorageAnswer = resolve;
      });
      const open = Reflect.get<IDBFactory, "open">(IDBFactory.prototype, "open");
      // A request that succeeds only when the test says so: what a browser does that is busy with its disk.
      IDBFactory.prototype.open = function (this: IDBFactory, ...given) {
        const request = open.apply(this, given);
        const success = Object.getOwnPropertyDescriptor(IDBRequest.prototype, "onsuccess");
        Object.defineProperty(request, "onsuccess", {
          set: (listener: () => void) => {
            success?.set?.call(request, () => void answers.then(listener));
          },
        });
        return request;
      };
    });
    const page = await reader.openGuardedPage();
    await page.evaluate(() => window.guard.record("now"));
    expect(await fresh(page, ["now", "new"])).toEqual(["new"]);
    await page.evaluate(async () => {
      window.letStorageAnswer();
      await window.guard.flush();
    });
    expect(await storageOf(page)).toBe("indexeddb");
    expect(await fresh(page, ["earlier", "now", "new"])).toEqual(["new"]);
    const next = await reader.openPage();
    await next.evaluate(() => window.letStorageAnswer());
    await openGuard(next);
    expect(await fresh(next, ["earlier", "now", "new"])).toEqual(["new"]);
  });
});

test.describe("where the quota is reached", () => {
  test("the guard goes on, says once that localStorage is full, and the oldest makes way for the newest", async ({
    reader,
  }) => {
    const page = await reader.openGuardedPage({ storage: "local" });
    await record(page, ["early"]);
    await fillLocalStorage(page);
    await record(page, ["late-1"]);
    await record(page, ["late-2"]);
    expect(await fresh(page, ["early", "late-1", "late-2", "b"])).toEqual(["b"]);
    expect(await codes(page)).toEqual(["storage"]);
    await page.evaluate(() => {
      for (const key of Object.keys(localStorage)) if (key.startsWith("ballast")) localStorage.removeItem(key);
    });
    await record(page, ["after"]);
    await expect.poll(() => storageOf(page)).toBe("local");
    expect(await codes(page)).toEqual(["storage"]);
    await page.reload();
    await openGuard(page, { storage: "local" });
    expect(await fresh(page, ["late-2", "after", "b"])).toEqual(["b"]);
  });
});
