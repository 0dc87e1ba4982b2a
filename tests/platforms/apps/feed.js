/** What every page does: guards its feed, shows it, and leaves the outcomes to the test. */
import { guavaScenario, runScenario, scenario } from "./shared.js";

/**
 * @param {Pick<typeof import("seenguard"), "SeenGuard">} seenguard
 * @param {() => Promise<typeof import("seenguard/formats")>} [formats] a chunk that is loaded on demand
 */
export async function guardFeed(seenguard, formats) {
  const outcomes = { seenguard: await runScenario(seenguard, scenario) };
  show(outcomes.seenguard.before);
  if (formats !== undefined) {
    const options = { namespace: "formats:reader" };
    outcomes["seenguard/formats"] = await runScenario(await formats(), guavaScenario, options);
  }
  window.outcomes = outcomes;
}

/** @param {readonly string[]} ids */
function show(ids) {
  for (const id of ids) {
    const entry = document.createElement("li");
    entry.textContent = id;
    document.querySelector("#feed")?.append(entry);
  }
}
