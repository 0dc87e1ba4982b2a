/** A simulated browser with the test's clock: see tests/simulation/programs/browser.ts. */
import { Browser, type World } from "../simulation/programs/browser.js";
import { globalsOf } from "../simulation/programs/globals.js";
import { Ledger } from "../simulation/programs/ledger.js";
import { bundlePackage, type LoadPackage } from "../simulation/programs/package.js";

export { idsOf } from "../support/shards.js";

export type { PageDocument } from "../simulation/programs/browser.js";
export { Browser };

let load: LoadPackage | undefined;

export async function newBrowser(world: Partial<World> = {}): Promise<Browser> {
  const run = (load ??= await bundlePackage());
  const all: World = { seed: 1, indexedDb: "works", local: "works", isCustom: false, ...world };
  const browser = new Browser(all, new Ledger(), (document) => run(globalsOf(document)));
  browser.survives = () => true;
  return browser;
}

/** The promise's value; advances the time until it is settled. */
export async function until<T>(browser: Browser, promise: Promise<T>): Promise<T> {
  const state = { isSettled: false };
  const settle = () => (state.isSettled = true);
  promise.then(settle, settle);
  for (let ms = 0; ms < 60_000; ms += 50) {
    await browser.advance(ms === 0 ? 0 : 50);
    if (state.isSettled) return promise;
  }
  throw new Error("a promise is not settled");
}

/** The values of a map that contain a string; rows are base64. */
export function containing(values: ReadonlyMap<string, string>, part: string): string[] {
  return [...values].filter(([, value]) => Buffer.from(value, "base64").includes(part)).map(([key]) => key);
}
