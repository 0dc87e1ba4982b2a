/** The app of examples/capacitor over Capacitor's bridge for Android, in Chromium. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Profile } from "../support/browsers.js";
import { pageOf } from "./product.js";
import { Reader } from "./reader.js";
import { expect, restart, test, timesReported, type Http } from "./shells.js";

test("Capacitor's command makes projects for Android and iOS, with the app and the names of its plugins", async ({
  product,
}) => {
  const read = (path: string) => readFile(join(product.directory, path), "utf8");
  const built = await read("dist/index.html");
  for (const which of ["android", "ios"] as const) {
    expect(await readFile(join(pageOf(product, which), "index.html"), "utf8")).toBe(built);
  }
  const plugins = JSON.parse(await read("android/app/src/main/assets/capacitor.plugins.json")) as { pkg: string }[];
  expect(plugins.map(({ pkg }) => pkg)).toEqual(["@capacitor/app", "@capacitor/preferences"]);
  expect(await read("ios/App/CapApp-SPM/Package.swift")).toContain("CapacitorPreferences");
});

for (const http of ["on", "off", "aside"] satisfies Http[]) {
  test(`with CapacitorHttp ${http}, nothing seen comes again, each impression is reported once, and signing out deletes them`, async ({
    api,
    context,
    deviceWith,
  }) => {
    const device = deviceWith(http);
    const webview = await device.open(await context.newPage());
    const reader = new Reader(webview);
    await reader.signIn("ada");
    await reader.look();
    await reader.scroll();
    await reader.look();
    await reader.refresh();
    expect(await reader.repeated()).toEqual([]);
    await reader.look();
    device.native.changeState(false);
    await expect.poll(() => timesReported(api, reader)).toEqual([1]);
    expect(api.malformed).toEqual([]);
    // The first request has no headers, since nothing was seen before it.
    const [first, ...others] = api.feedHeaders;
    expect(first).toEqual([]);
    expect(others.length).toBeGreaterThan(0);
    expect(others.every((names) => names.includes("seen-pending"))).toBe(true);
    // The system's requests have no origin, so they need no preflight.
    expect(api.preflights > 0).toBe(http === "off");
    expect(new Set(device.native.requests).size).toBe(http === "off" ? 0 : 3);
    const isOwnFetch = () => window.fetch.toString().includes("[native code]");
    expect(await webview.evaluate(isOwnFetch)).toBe(http !== "on");

    await reader.press("Sign out");
    await reader.signIn("ada");
    expect((await reader.titles())[0]).toBe("Story 1");
  });
}

test("guard.fetch sends what is pending and applies the snapshot, where the system makes the requests", async ({
  api,
  context,
  deviceWith,
  product,
}) => {
  api.reports.set("story-1", 1);
  api.runStream();
  const webview = await deviceWith("on").open(await context.newPage());
  const script = await readFile(join(product.directory, "node_modules/seenguard/dist/seenguard.iife.js"), "utf8");
  await expect.poll(() => webview.evaluate(() => document.readyState)).toBe("complete");
  const fresh = await webview.evaluate(
    async ([script, url]) => {
      document.head.append(Object.assign(document.createElement("script"), { textContent: script }));
      const guard = await Seenguard.SeenGuard.open({ namespace: "home:bob" });
      guard.record("on another screen");
      const fetch = guard.fetch({ match: /\/feed\?/ });
      const { items } = (await (await fetch(url)).json()) as { items: { id: string }[] };
      return guard.filter(items).map(({ id }) => id);
    },
    [script, `${api.origin}/feed?cursor=0`] as const,
  );
  expect(fresh).toHaveLength(11);
  expect(fresh).not.toContain("story-1");
  expect(api.feedHeaders).toEqual([["seen-pending"]]);
});

test("a report that was refused is sent again as soon as the app's state changes", async ({
  api,
  context,
  deviceWith,
}) => {
  const device = deviceWith("on");
  const webview = await device.open(await context.newPage(), () => {
    addEventListener("visibilitychange", () => sessionStorage.setItem("hidden", "yes"), true);
  });
  const reader = new Reader(webview);
  await reader.signIn("ada");
  api.refuses = true;
  await reader.look();
  // The backoff becomes longer than the test has patience.
  for (let times = 1; times <= 8; times++) {
    device.native.changeState(times % 2 === 0);
    await expect.poll(() => api.refused).toBeGreaterThanOrEqual(times);
  }
  expect(device.native.requests).toContain("POST /seen");
  expect(timesReported(api, reader)).toEqual([0]);
  api.refuses = false;
  device.native.changeState(false);
  await expect.poll(() => timesReported(api, reader)).toEqual([1]);
  expect(await webview.evaluate(() => sessionStorage.getItem("hidden"))).toBe(null);
});

test("impressions of a request without a response are reported when the app starts again", async ({
  api,
  context,
  deviceWith,
}) => {
  const device = deviceWith("on");
  const reader = new Reader(await device.open(await context.newPage()));
  await reader.signIn("ada");
  device.native.isNetworkSilent = true;
  await reader.look();
  device.native.changeState(false);
  await expect.poll(() => device.native.requests.filter((request) => request === "POST /seen").length).toBe(1);
  device.native.isNetworkSilent = false;
  const again = reader.continue(await restart(device, context));
  await again.hasStories();
  expect(await again.repeated()).toEqual([]);
  await expect.poll(() => timesReported(api, reader)).toEqual([1]);
});

test("an app that the system kills while it is open, and while it hides, has lost no impression", async ({
  api,
  deviceWith,
}) => {
  const profile = await Profile.create();
  const device = deviceWith("on");
  const start = async () => {
    const browser = await profile.start();
    return { browser, webview: await device.open(await browser.newPage()) };
  };
  const first = await start();
  const reader = new Reader(first.webview);
  await reader.signIn("ada");
  await reader.look();
  await first.browser.kill();

  const second = await start();
  const later = reader.continue(second.webview);
  await later.look();
  expect(later.seen.size).toBeGreaterThanOrEqual(2 * reader.seen.size);
  device.native.changeState(false);
  await second.webview.freeze();
  await second.browser.kill();

  const third = await start();
  const last = later.continue(third.webview);
  await last.hasStories();
  expect(await last.repeated()).toEqual([]);
  await expect.poll(() => timesReported(api, last)).not.toContain(0);
  await profile.remove();
});

test("a webview whose process ended restores its list; a reloaded one begins another", async ({
  api,
  context,
  deviceWith,
}) => {
  const device = deviceWith("on");
  const webview = await device.open(await context.newPage());
  const reader = new Reader(webview);
  await reader.signIn("ada");
  const titles = await reader.titles();
  await reader.look();
  await webview.endProcess();
  await reader.hasStories();
  expect(await reader.titles()).toEqual(titles);
  await webview.reload();
  await expect.poll(async () => (await reader.titles())[0] ?? titles[0]).not.toBe(titles[0]);
  expect(await reader.repeated()).toEqual([]);
  await expect.poll(() => timesReported(api, reader)).not.toContain(0);
});
