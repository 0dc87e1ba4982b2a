/** An open of a namespace that was cleared once ends, whatever localStorage does with the cross-tab signal. */
import { expect, test } from "vitest";
import { newBrowser, until } from "./support.js";

const SIGNAL = "seenguard-signal/home";

/** A browser in which the namespace was cleared, and the signal of it. */
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
    test(`i5: opens and records where the signal is ${signal} and localStorage ${localStorage}`, async () => {
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

test("i6: a tab with a signal that is older than what it knows never replaces a newer one", async () => {
  const { browser, signal } = await clearedBrowser();
  const document = browser.open();
  const guard = await until(browser, document.openGuard({}));
  await browser.task(() => guard.record("a"));
  await browser.advance(5_000);
  expect((browser.local.get(SIGNAL) ?? "").slice(0, 11)).toBe(signal.slice(0, 11));
});
