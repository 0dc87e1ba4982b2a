/** What the apps share: the page of the feed, and what a page's code and a server do with it. */
import { guavaScenario, scenario } from "./data.js";
import { runScenario } from "./scenario.js";

export { runScenario, scenario };
export { serve } from "./server.js";

/**
 * What a page's code does: with `seenguard`, with its engine as JavaScript, and with `seenguard/formats`.
 * @param {Pick<typeof import("seenguard"), "SeenGuard">} seenguard
 * @param {() => Promise<typeof import("seenguard/formats")>} loadFormats from a chunk of its own, where there are chunks
 */
export async function guardFeeds(seenguard, loadFormats) {
  return {
    page: await runScenario(seenguard, scenario),
    "engine-js": await runScenario(seenguard, scenario, { namespace: "home:engine-js", engine: "js" }),
    formats: await runScenario(await loadFormats(), guavaScenario, { namespace: "home:formats" }),
  };
}
