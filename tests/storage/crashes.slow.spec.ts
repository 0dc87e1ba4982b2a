/** Renderers and browsers that die, and pages that reload during recording: recorded impressions are stored afterwards. */

import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "@playwright/test";
import { Profile } from "../support/browsers.js";
import {
  codes,
  expect,
  flush,
  fresh,
  idsOf,
  openGuard,
  record,
  stashesOn,
  stats,
  test as base,
  visit,
} from "../support/pages.js";

const test = base.extend<{ profile: Profile }>({
  profile: async ({}, use) => {
    const profile = await Profile.create();
    await use(profile);
    await profile.remove();
  },
});

/** Writing takes milliseconds, and longer on a busy machine. */
const WRITTEN_MS = 500;

/** Kills the renderer of a page, as when memory runs out. */
async function killRenderer(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const crashed = page.waitForEvent("crash");
  // A killed page does not respond.
  void session.send("Page.crash").catch(() => undefined);
  await crashed;
}

/** The process that renders a page: of all renderers the one that works while the page does. */
async function rendererOf(page: Page): Promise<number> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the context has no browser");
  const session = await browser.newBrowserCDPSession();
  const renderers = async () => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    return processInfo.filter(({ type }) => type === "renderer");
  };
  const before = new Map((await renderers()).map(({ id, cpuTime }) => [id, cpuTime]));
  // The same work on a busy machine, where a time would be little of a processor's.
  await page.evaluate(() => {
    let sum = 0;
    for (let number = 0; number < 5e8; number++) sum += number;
    return sum;
  });
  const worked = (await renderers()).map(({ id, cpuTime }) => ({ id, ms: cpuTime - (before.get(id) ?? 0) }));
  await session.detach();
  const [most] = worked.sort((a, b) => b.ms - a.ms);
  if (!most) throw new Error("there is no renderer");
  return most.id;
}

test("i6: a renderer killed half a second after record loses nothing", async ({ context, site }) => {
  const all: string[] = [];
  for (let again = 0; again < 5; again++) {
    const page = await visit(await context.newPage(), site);
    expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
    const ids = idsOf(`visit-${String(again)}`, 20);
    await record(page, ids.slice(0, 10));
    await record(page, ids.slice(10));
    all.push(...ids);
    await pause(WRITTEN_MS);
    await killRenderer(page);
    await page.close();
  }
  const page = await visit(await context.newPage(), site);
  expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
  expect((await stats(page)).pending).toBe(all.length);
  expect(await codes(page)).toEqual([]);
});

test("a tab is not blocked when another tab's process stops", async ({ context, site }) => {
  const [stopping, running] = [await context.newPage(), await context.newPage()];
  for (const page of [stopping, running]) await visit(page, site);
  const renderer = await rendererOf(stopping);
  expect(await rendererOf(running)).not.toBe(renderer);
  for (let again = 0; again < 3; again++) {
    const ids = idsOf(`of the stopping ${String(again)}`, 50);
    await record(stopping, ids);
    process.kill(renderer, "SIGSTOP");
    try {
      await record(running, [`of the running ${String(again)}`]);
      const began = Date.now();
      await flush(running);
      expect(Date.now() - began).toBeLessThan(5_000);
      // The write was in progress before the process stopped.
      const later = await visit(await context.newPage(), site);
      expect(await fresh(later, [`of the running ${String(again)}`, ...ids, "new"])).toEqual(["new"]);
      await later.close();
    } finally {
      process.kill(renderer, "SIGCONT");
    }
    await expect.poll(() => fresh(stopping, [`of the running ${String(again)}`, "new"])).toEqual(["new"]);
  }
  for (const page of [stopping, running]) expect(await codes(page)).toEqual([]);
});

test("i6: a reload in the middle of a burst loses no impression", async ({ page, site }) => {
  await page.goto(site.origin);
  for (let again = 0; again < 8; again++) {
    // A namespace for each: one guard remembers no more than 10,000.
    const options = { namespace: `reader-${String(again)}` };
    await openGuard(page, options);
    await page.evaluate(burst);
    await page.waitForFunction(() => localStorage.getItem("recorded") !== "0");
    // A different moment of the burst each time.
    await pause(60 + 13 * again);
    await page.reload();
    const recorded = Number(await page.evaluate(() => localStorage.getItem("recorded")));
    await openGuard(page, options);
    expect(await fresh(page, [...idsOf("id", recorded), "new"])).toEqual(["new"]);
    expect(await codes(page)).toEqual([]);
  }
});

/**
 * Records one id after the other, several each millisecond, and stores their number so that no reload loses it.
 */
function burst(): void {
  let next = 0;
  localStorage.setItem("recorded", "0");
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    window.guard.record(`id-${String(next)}`);
    next++;
    localStorage.setItem("recorded", String(next));
    if (next < 9000) channel.port2.postMessage(undefined);
  };
  channel.port2.postMessage(undefined);
}

/** A visit in which IndexedDB is denied. */
const denied = (page: Page) =>
  page.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException("denied", "SecurityError");
    };
  });

async function visitIn(profile: Profile, origin: string, prepare?: (page: Page) => Promise<unknown>) {
  const browser = await profile.start();
  const page = await browser.newPage();
  await prepare?.(page);
  await page.goto(origin);
  await openGuard(page);
  return { browser, page };
}

test("i6: a browser killed half a second after record loses nothing with the default storage", async ({
  profile,
  site,
}) => {
  const all: string[] = [];
  for (let again = 0; again < 3; again++) {
    const { browser, page } = await visitIn(profile, site.origin);
    expect((await stats(page)).storage).toBe("indexeddb");
    expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
    const ids = idsOf(`visit-${String(again)}`, 30);
    for (const id of ids) await record(page, [id]);
    all.push(...ids);
    await pause(WRITTEN_MS);
    await browser.kill();
  }
  const { page } = await visitIn(profile, site.origin);
  expect(await fresh(page, [...all, "new"])).toEqual(["new"]);
  expect((await stats(page)).pending).toBe(all.length);
  expect(await codes(page)).toEqual([]);
});

/** How long the person reads before the browser dies: `SEENGUARD_LOCAL_SECONDS` for another measurement. */
const READING_SECONDS = Number(process.env.SEENGUARD_LOCAL_SECONDS ?? 15);

test("i6: in a visit without IndexedDB a killed browser loses only what localStorage had not written to disk: measured", async ({
  profile,
  site,
}) => {
  test.setTimeout(120_000 + READING_SECONDS * 1000);
  const first = await visitIn(profile, site.origin, denied);
  await record(first.page, idsOf("earlier", 10));
  await expect.poll(() => stashesOn(first.page)).not.toEqual([]);
  await first.browser.quit();

  const second = await visitIn(profile, site.origin, denied);
  const ids = idsOf("id", READING_SECONDS * 4);
  for (const id of ids) {
    await record(second.page, [id]);
    await pause(250);
  }
  await second.browser.kill();

  const { page } = await visitIn(profile, site.origin, denied);
  const lost = await fresh(page, ids);
  console.log(
    `localStorage alone, killed after ${String(READING_SECONDS)} s with an impression every 250 ms: the last ${String(lost.length / 4)} s lost (${String(lost.length)} of ${String(ids.length)})`,
  );
  // Data that an orderly end has written to disk stays; only the latest is lost, and nothing partially.
  expect(await fresh(page, idsOf("earlier", 10))).toEqual([]);
  expect(lost).toEqual(ids.slice(ids.length - lost.length));
});
