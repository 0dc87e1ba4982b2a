/** What the apps share: the page of the feed, and what a page's code and a server do with it. */
import { guavaScenario, scenario } from "./data.js";
import { runScenario } from "./scenario.js";

export { runScenario, scenario };
export { serve } from "./server.js";

/** @typedef {import("seenguard").GuardOptions["fallback"]} Fallback */

/** Has the engine run as JavaScript though there is Wasm: an option that the package has for its tests. */
const asScript = { [Symbol.for("seenguard.engine")]: "js" };

/**
 * What a page's code does: with `seenguard`, with its engine as JavaScript, and with `seenguard/formats`.
 * @param {Pick<typeof import("seenguard"), "SeenGuard"> & { fallback?: Fallback, formatsFallback?: Fallback }} seenguard
 *   with the engines as JavaScript, which a page of script tags does not name
 * @param {() => Promise<typeof import("seenguard/formats")>} loadFormats from a chunk of its own, where there are chunks
 */
export async function guardFeeds({ SeenGuard, fallback, formatsFallback }, loadFormats) {
  const ofFormats = { namespace: "home:formats", fallback: formatsFallback };
  return {
    page: await runScenario({ SeenGuard }, scenario, { fallback }),
    "engine-js": await runScenario({ SeenGuard }, scenario, { ...asScript, namespace: "home:engine-js", fallback }),
    formats: await runScenario(await loadFormats(), guavaScenario, ofFormats),
    "formats-engine-js": await runScenario(await loadFormats(), guavaScenario, {
      ...asScript,
      ...ofFormats,
      namespace: "home:formats-js",
    }),
  };
}
