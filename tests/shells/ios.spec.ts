/** The app of examples/capacitor over Capacitor's bridge for iOS, in WebKitGTK. */
import { startWebKitEngine, type Engine } from "../support/engine.js";
import { IosShell } from "./ios-shell.js";
import { NativeSide } from "./native-side.js";
import { Reader } from "./reader.js";
import { expect, stopIndexedDb, test, timesReported } from "./shells.js";

let engine: Engine;

test.beforeAll(async () => {
  engine = await startWebKitEngine();
});

test.afterAll(() => engine.end());

for (const isHttpEnabled of [true, false]) {
  test(`with CapacitorHttp ${isHttpEnabled ? "on" : "off"}, nothing seen comes again, and each impression is reported once, also while IndexedDB stands still`, async ({
    api,
    product,
  }) => {
    const native = new NativeSide(isHttpEnabled);
    const shell = await IosShell.start(product, native);
    const window = await shell.open(engine);
    const reader = new Reader(window);
    await reader.signIn(`ada ${String(isHttpEnabled)}`);
    await reader.look();
    native.changeState(false);
    await expect.poll(() => timesReported(api, reader)).toEqual([1]);
    expect(api.preflights > 0).toBe(!isHttpEnabled);
    expect(new Set(native.requests).size).toBe(isHttpEnabled ? 3 : 0);

    await window.evaluate(stopIndexedDb);
    native.changeState(true);
    await reader.refresh();
    expect(await reader.repeated()).toEqual([]);
    await reader.look();
    native.changeState(false);
    await expect.poll(() => timesReported(api, reader)).toEqual([1]);
    const stashes = () => Object.keys(localStorage).filter((key) => /^seenguard\/.*\/s\//.test(key)).length;
    await expect.poll(() => window.evaluate(stashes)).toBeGreaterThan(0);
    await window.close();

    const again = reader.continue(await shell.open(engine));
    await again.hasStories();
    expect(await again.repeated()).toEqual([]);
    await shell.close();
  });
}
