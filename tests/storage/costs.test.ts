/** The costs of storage: transactions, connections, calls into the engine, repeated deliveries. */
import { expect, test } from "vitest";
import { shippedSnapshot } from "../support/node.js";
import { idsOf, newBrowser, until, type Browser } from "./support.js";

/** The number of transactions during an open and the time after it. */
async function transactionsOfOpen(browser: Browser): Promise<number> {
  const document = browser.open();
  await until(browser, document.openGuard({}));
  await browser.advance(5_000);
  document.end();
  return document.transactions;
}

test("i7: fifteen namespaces with a signal add no transaction to an open", async () => {
  const browser = await newBrowser();
  await transactionsOfOpen(browser);
  const alone = await transactionsOfOpen(browser);
  for (const namespace of idsOf("other", 15)) {
    const document = browser.open();
    const guard = await until(browser, document.openGuard({ namespace }));
    await browser.task(() => guard.record("a"));
    await until(browser, guard.flush());
    await until(browser, document.seenguard.SeenGuard.clear(namespace));
    document.end();
  }
  expect([...browser.local.keys()].filter((key) => key.startsWith("seenguard-signal/other"))).toHaveLength(15);
  expect(await transactionsOfOpen(browser)).toBeLessThanOrEqual(alone + 2);
});

test("five stored shards add no transaction to an open", async () => {
  const browser = await newBrowser();
  await transactionsOfOpen(browser);
  const before = await transactionsOfOpen(browser);
  const document = browser.open();
  const guard = await until(browser, document.openGuard({}));
  guard.apply(await shippedSnapshot(idsOf("seen", 50), { capacity: 10, shards: 5 }));
  await until(browser, guard.close());
  document.end();
  expect([...browser.rows.keys()].filter((key) => key.endsWith("/h"))).toHaveLength(1);
  expect(await transactionsOfOpen(browser)).toBe(before);
});

test("a read in progress as the page hides does not close the connection", async () => {
  const browser = await newBrowser();
  const [document, other] = [browser.open(), browser.open()];
  const guard = await until(browser, document.openGuard({}));
  const writing = await until(browser, other.openGuard({}));
  await browser.advance(5_000);
  await browser.task(() => writing.record("a"));
  await browser.advance(3);
  const { transactions } = document;
  browser.outcomes = [{ way: "is late", ms: 60_000 }];
  await browser.advance(40);
  browser.outcomes = [];
  // Its read after the other's signal is in progress.
  expect([document.transactions, guard.filter(["a"])]).toEqual([transactions + 1, ["a"]]);
  await browser.task(() => document.setHidden(true));
  await browser.advance(70_000);
  await browser.task(() => document.setHidden(false));
  await browser.advance(5_000);
  expect(document.openedTimes).toBe(1);
  expect(document.errors).toEqual([]);
  expect(guard.filter(["a", "b"])).toEqual(["b"]);
});

test("i8: six restored tabs, one of them visible, deliver five stored impressions once", async () => {
  const browser = await newBrowser();
  const past = browser.open();
  const guard = await until(browser, past.openGuard({}));
  await browser.task(() => guard.record(idsOf("found", 5)));
  await until(browser, guard.flush());
  past.end();
  for (let tab = 0; tab < 6; tab++) {
    const document = browser.open(tab > 0);
    const restored = await until(browser, document.openGuard({}));
    restored.report({ url: "https://feed.test/impressions", intervalMs: 1_000 });
  }
  await browser.advance(120_000);
  const delivered = browser.requests.join().match(/found-\d/g) ?? [];
  expect(delivered.toSorted()).toEqual(idsOf("found", 5));
});

test("one impression needs at most eight calls into the engine from record to IndexedDB", async () => {
  const browser = await newBrowser();
  const document = browser.open();
  const guard = await until(browser, document.openGuard({}));
  await browser.advance(5_000);
  const [calls, rows] = [document.engineCalls, browser.rows.size];
  await browser.task(() => guard.record("a"));
  await browser.advance(50);
  expect(browser.rows.size).toBe(rows + 1);
  expect(document.engineCalls - calls).toBeLessThanOrEqual(8);
});

test("i7: a thousand visits leave few keys", async () => {
  const browser = await newBrowser();
  const document = browser.open();
  let most = 0;
  for (const id of idsOf("visit", 1_000)) {
    const guard = await until(browser, document.openGuard({}));
    await browser.task(() => guard.record(id));
    await until(browser, guard.close());
    most = Math.max(most, browser.rows.size);
  }
  expect(most).toBeLessThanOrEqual(20);
  document.end();
  const guard = await until(browser, browser.open().openGuard({}));
  expect(guard.filter(idsOf("visit", 1_000))).toEqual([]);
  expect([...browser.local.keys()].filter((key) => key.includes("/s/"))).toEqual([]);
});
