/** A person's browser in the process, with a clock of the test's: see tests/simulation/programs/browser.ts. */
import { Browser, type World } from "../simulation/programs/browser.js";
import { globalsOf } from "../simulation/programs/globals.js";
import { Ledger } from "../simulation/programs/ledger.js";
import { bundlePackage, type LoadPackage } from "../simulation/programs/package.js";

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

/** The promise's value; time passes until there is one. */
export async function until<T>(browser: Browser, promise: Promise<T>): Promise<T> {
  const state = { isSettled: false };
  const settle = () => (state.isSettled = true);
  promise.then(settle, settle);
  for (let ms = 0; ms < 60_000; ms += 50) {
    await browser.advance(ms === 0 ? 0 : 50);
    if (state.isSettled) return promise;
  }
  throw new Error("a promise stays open");
}

/** The values of a map whose text has a part; rows are base64. */
export function holding(values: ReadonlyMap<string, string>, part: string): string[] {
  return [...values].filter(([, value]) => Buffer.from(value, "base64").includes(part)).map(([key]) => key);
}

export const idsOf = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(index)}`);
