/**
 * Clearing a namespace: cleared data is gone, even if every page that cleared dies meanwhile, and a later `open` resolves,
 * in any state of localStorage and the cross-tab signal.
 */
import { describe, expect, test } from "vitest";
import { generationOf } from "../simulation/programs/ledger.js";
import { containing, newBrowser, until, type Browser, type PageDocument } from "./support.js";

/** A document that has recorded and stored some ids. */
async function visit(browser: Browser, ids: readonly string[], namespace = "home") {
  const document = browser.open();
  const guard = await until(browser, document.openGuard({ namespace }));
  await browser.task(() => guard.record(ids));
  await until(browser, guard.flush());
  return { document, guard };
}

/** The next visit of the namespace. */
async function next(browser: Browser, namespace = "home") {
  const document = browser.open();
  const guard = await until(browser, document.openGuard({ namespace }));
  await browser.advance(5_000);
  return guard;
}

/** Clears, empties localStorage and navigates, in one task. */
function signOut(document: PageDocument): void {
  void document.seenguard.SeenGuard.clear("home").catch(() => {});
  document.browser.local.clear();
  document.leave();
}

describe("a sign-out that clears, empties localStorage and navigates in one task", () => {
  test("i6: leaves nothing stored with an open guard", async () => {
    const browser = await newBrowser();
    const { document } = await visit(browser, ["secret"]);
    expect(containing(browser.rows, "secret")).toHaveLength(1);
    await browser.task(() => signOut(document));
    await browser.advance(1_000);
    expect(containing(browser.rows, "secret")).toEqual([]);
    expect((await next(browser)).filter(["secret"])).toEqual(["secret"]);
  });

  test("i6: leaves nothing stored after the guard was closed", async () => {
    const browser = await newBrowser();
    const { document, guard } = await visit(browser, ["secret"]);
    await until(browser, guard.close());
    await browser.advance(1_000);
    await browser.task(() => signOut(document));
    await browser.advance(1_000);
    expect(containing(browser.rows, "secret")).toEqual([]);
    expect((await next(browser)).filter(["secret"])).toEqual(["secret"]);
  });
});

describe("of two clears whose pages die before IndexedDB responds", () => {
  for (const [who, namespace] of [
    ["of the same namespace", "home"],
    ["of another namespace", "explore"],
  ] as const)
    test(`i6: the later one is completed by the next page ${who}`, async () => {
      const browser = await newBrowser();
      browser.survives = () => false;
      const first = await visit(browser, ["first"]);
      browser.outcomes = [{ way: "is silent", isDone: false }];
      await browser.task(() => void first.document.seenguard.SeenGuard.clear("home").catch(() => {}));
      browser.outcomes = [];
      const second = await visit(browser, ["second"]);
      browser.outcomes = [{ way: "is silent", isDone: false }];
      await browser.task(() => void second.document.seenguard.SeenGuard.clear("home").catch(() => {}));
      await browser.task(() => [first, second].forEach(({ document }) => document.end()));
      browser.outcomes = [];
      await next(browser, namespace);
      expect([...containing(browser.rows, "first"), ...containing(browser.rows, "second")]).toEqual([]);
      expect(browser.local.has("seenguard-clear/home")).toBe(false);
      expect((await next(browser)).filter(["first", "second"])).toEqual(["first", "second"]);
    });
});

test("i6: an earlier clear that ends late leaves the marker of a later one", async () => {
  const browser = await newBrowser();
  browser.survives = () => false;
  const first = await visit(browser, ["first"]);
  browser.outcomes = [{ way: "is late", ms: 2_000 }];
  await browser.task(() => void first.document.seenguard.SeenGuard.clear("home").catch(() => {}));
  browser.outcomes = [];
  const second = await visit(browser, ["second"]);
  browser.outcomes = [{ way: "is silent", isDone: false }];
  await browser.task(() => void second.document.seenguard.SeenGuard.clear("home").catch(() => {}));
  await browser.advance(3_000);
  await browser.task(() => [first, second].forEach(({ document }) => document.end()));
  browser.outcomes = [];
  await next(browser, "explore");
  expect(containing(browser.rows, "second")).toEqual([]);
});

test("i6: a clear after the clock was set back has a higher generation than the earlier one", async () => {
  const browser = await newBrowser({ local: "absent" });
  const { document } = await visit(browser, ["first"]);
  await until(browser, document.seenguard.SeenGuard.clear("home"));
  browser.clockMs -= 86_400_000;
  const second = await visit(browser, ["second"]);
  await until(browser, second.document.seenguard.SeenGuard.clear("home"));
  const generations = new Set([...browser.rows.keys()].map(generationOf));
  expect(generations.size).toBe(1);
  const later = await visit(browser, ["third"]);
  later.document.end();
  expect((await next(browser)).filter(["first", "second", "third"])).toEqual(["first", "second"]);
});

test("a clear removes no impression recorded after its call", async () => {
  const browser = await newBrowser();
  const { document, guard } = await visit(browser, ["before"]);
  await browser.task(() => {
    void document.seenguard.SeenGuard.clear("home");
    guard.record("after");
    document.leave();
  });
  expect((await next(browser)).filter(["before", "after"])).toEqual(["before"]);
});

test("a clear rejects after ten seconds if IndexedDB does not respond, and at once leaves nothing in localStorage", async () => {
  const browser = await newBrowser();
  const { document, guard } = await visit(browser, []);
  browser.outcomes = [{ way: "is silent", isDone: false }];
  await browser.task(() => guard.record("secret"));
  await browser.advance(1_500);
  expect(containing(browser.local, "secret")).toHaveLength(1);
  const outcome: unknown[] = [];
  await browser.task(() => {
    document.seenguard.SeenGuard.clear("home").catch((error: unknown) => outcome.push(error));
  });
  expect(containing(browser.local, "secret")).toEqual([]);
  await browser.advance(9_500);
  expect(outcome).toEqual([]);
  await browser.advance(1_000);
  expect(outcome).toMatchObject([{ code: "storage" }]);
});

test("i6: a clear that has timed out changes nothing when IndexedDB responds later", async () => {
  const browser = await newBrowser({ local: "denied" });
  const [one, two] = [await visit(browser, []), await visit(browser, [])];
  browser.outcomes = [{ way: "is late", ms: 15_000 }];
  const outcome: unknown[] = [];
  await browser.task(() => {
    one.document.seenguard.SeenGuard.clear("home").catch((error: unknown) => outcome.push(error));
  });
  browser.outcomes = [];
  await browser.advance(11_000);
  expect(outcome).toMatchObject([{ code: "storage" }]);
  await until(browser, two.document.seenguard.SeenGuard.clear("home"));
  await browser.task(() => two.guard.record("after"));
  await browser.advance(10_000);
  expect((await next(browser)).filter(["after", "new"])).toEqual(["new"]);
});

test("i6: a clear deletes impressions that another tab has recorded during its own earlier clear", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const browser = await newBrowser({ seed });
    const [one, two] = [await visit(browser, []), await visit(browser, [])];
    const clear = ({ document }: typeof one) => void document.seenguard.SeenGuard.clear("home");
    browser.outcomes = [{ way: "is late", ms: 4 }];
    await browser.task(() => clear(two));
    browser.outcomes = [{ way: "is late", ms: 50 }];
    await browser.task(() => two.guard.record("a"));
    browser.outcomes = [];
    await browser.advance(1);
    await browser.task(() => clear(one));
    await browser.advance(1_000);
    expect(two.guard.filter(["a"])).toEqual(["a"]);
    expect((await next(browser)).filter(["a"])).toEqual(["a"]);
  }
});

test("i6: a tab whose clear has failed does not remove rows of a tab that has not read the clear", async () => {
  const browser = await newBrowser({ local: "denied" });
  const [one, two] = [await visit(browser, ["a"]), await visit(browser, [])];
  await browser.advance(3_000);
  browser.outcomes = [{ way: "is silent", isDone: false }];
  await browser.task(() => two.guard.record("b"));
  await browser.task(() => void two.document.seenguard.SeenGuard.clear("home").catch(() => {}));
  await browser.task(() => void two.guard.report({ url: "https://feed.test/impressions" }));
  browser.outcomes = [];
  await browser.advance(60_000);
  const known = one.guard.filter(["a"]);
  expect((await next(browser)).filter(["a"])).toEqual(known);
});

test("i6: a clear that the next page could not complete within ten seconds is completed by the one after it", async () => {
  const browser = await newBrowser();
  browser.survives = () => false;
  const { document } = await visit(browser, ["secret"]);
  browser.outcomes = [{ way: "is silent", isDone: false }];
  await browser.task(() => {
    document.seenguard.SeenGuard.clear("home").catch(() => {});
    document.end();
  });
  browser.outcomes = [{ way: "is late", ms: 11_000 }];
  const page = browser.open();
  await until(browser, page.openGuard({ namespace: "explore", storage: "none" }));
  await browser.advance(40_000);
  expect(browser.local.has("seenguard-clear/home")).toBe(true);
  browser.outcomes = [];
  await next(browser, "explore");
  expect(browser.local.has("seenguard-clear/home")).toBe(false);
});

test("a clear needs no engine, and a guard whose engine loads later has nothing that was cleared", async () => {
  const browser = await newBrowser();
  const past = await visit(browser, ["secret"]);
  past.document.end();
  const document = browser.open();
  const instantiate = document.instantiate.bind(document);
  let engineComes = () => {};
  const comes = new Promise<void>((resolve) => (engineComes = resolve));
  document.instantiate = async (...given) => (await comes, instantiate(...given));
  const opening = document.openGuard({});
  await until(browser, document.seenguard.SeenGuard.clear("home"));
  expect(containing(browser.rows, "secret")).toEqual([]);
  engineComes();
  expect((await until(browser, opening)).filter(["secret"])).toEqual(["secret"]);
});

for (const local of ["works", "denied"] as const)
  test(`a guard that is opened during a clear stores its impressions, localStorage ${local}`, async () => {
    const browser = await newBrowser({ local });
    const { document } = await visit(browser, ["before"]);
    document.end();
    browser.outcomes = [{ way: "is late", ms: 300 }];
    const page = browser.open();
    const clearing = page.seenguard.SeenGuard.clear("home");
    const guard = await until(browser, page.openGuard({}));
    await browser.task(() => guard.record("after"));
    expect(guard.filter(["before", "after"])).toEqual(["before"]);
    await until(browser, clearing);
    await until(browser, guard.close());
    browser.outcomes = [];
    expect((await next(browser)).filter(["before", "after"])).toEqual(["before"]);
  });

test("i6: without localStorage no impression is sent that another tab has cleared, and an unresponsive store delays delivery a second", async () => {
  const browser = await newBrowser({ local: "denied" });
  const [one, two] = [await visit(browser, []), await visit(browser, [])];
  one.guard.report({ url: "https://feed.test/impressions" });
  await browser.task(() => one.guard.record("cleared"));
  await browser.advance(100);
  await until(browser, two.document.seenguard.SeenGuard.clear("home"));
  await browser.advance(5_000);
  expect(browser.requests.join()).not.toContain("cleared");
  await browser.advance(120_000);
  browser.outcomes = [{ way: "is silent", isDone: false }];
  await browser.task(() => one.guard.record("later"));
  await browser.advance(2_500);
  expect(browser.requests.join()).toContain("later");
});

const SIGNAL = "seenguard-signal/home";

/** A browser with a cleared namespace, and its signal. */
async function clearedBrowser() {
  const browser = await newBrowser();
  const document = browser.open();
  await until(browser, document.openGuard({}));
  await until(browser, document.seenguard.SeenGuard.clear("home"));
  await browser.advance(5_000);
  document.end();
  return { browser, signal: browser.local.get(SIGNAL) ?? "" };
}

for (const [localStorage, change] of [
  ["is full", (browser: Awaited<ReturnType<typeof newBrowser>>) => (browser.localRoom = 0)],
  ["writes nothing", (browser: Awaited<ReturnType<typeof newBrowser>>) => (browser.isLocalDeaf = true)],
] as const)
  for (const [signal, place] of [
    ["missing", (values: Map<string, string>) => values.delete(SIGNAL)],
    ["older", (values: Map<string, string>) => values.set(SIGNAL, "00000000001.00000000000000")],
    ["erased with all of localStorage", (values: Map<string, string>) => values.clear()],
  ] as const)
    test(`i5: opens and records if the signal is ${signal} and localStorage ${localStorage}`, async () => {
      const { browser } = await clearedBrowser();
      place(browser.local);
      change(browser);
      const document = browser.open();
      const guard = await until(browser, document.openGuard({}));
      await browser.task(() => guard.record("a"));
      await browser.advance(20_000);
      expect(browser.ledger.violations).toEqual([]);
      expect(guard.filter(["a", "b"])).toEqual(["b"]);
    });

test("after a trap another tab's signal of an earlier clear does not delete what was recorded since", async () => {
  const browser = await newBrowser({ isCustom: true });
  const document = browser.open();
  const guard = await until(browser, document.openGuard({}));
  await until(browser, document.seenguard.SeenGuard.clear("home"));
  browser.local.clear();
  browser.outcomes = [{ way: "is silent", isDone: false }];
  await browser.task(() => {
    document.traps = true;
    guard.filter(["a"]);
  });
  await browser.task(() => guard.record("since"));
  browser.outcomes = [];
  const other = await until(browser, browser.open().openGuard({}));
  await browser.task(() => other.record("there"));
  await browser.advance(60_000);
  expect(guard.filter(["since", "there"])).toEqual([]);
  expect(other.filter(["since", "there"])).toEqual([]);
});

test("i6: a tab never replaces a newer signal with an older one", async () => {
  const { browser, signal } = await clearedBrowser();
  const document = browser.open();
  const guard = await until(browser, document.openGuard({}));
  await browser.task(() => guard.record("a"));
  await browser.advance(5_000);
  expect((browser.local.get(SIGNAL) ?? "").slice(0, 11)).toBe(signal.slice(0, 11));
});
