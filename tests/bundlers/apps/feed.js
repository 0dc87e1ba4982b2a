/** What every page does: guards its feeds, shows the first, and leaves the outcomes to the test. */
import { guardFeeds, runScenario, scenario } from "./shared.js";

/**
 * @param {Parameters<typeof guardFeeds>[0]} seenguard
 * @param {() => Promise<typeof import("seenguard/formats")>} [loadFormats] without it `seenguard` alone is tried, with Wasm
 * @param {() => Worker} [startWorker]
 */
export async function showFeed(seenguard, loadFormats, startWorker) {
  const outcomes = loadFormats
    ? await guardFeeds(seenguard, loadFormats)
    : { page: await runScenario(seenguard, scenario) };
  for (const id of outcomes.page.before) {
    const entry = document.createElement("li");
    entry.textContent = id;
    document.querySelector("#feed")?.append(entry);
  }
  if (startWorker) outcomes.worker = await resultOf(startWorker());
  window.outcomes = outcomes;
}

/** @param {Worker} worker */
function resultOf(worker) {
  return new Promise((resolve, reject) => {
    worker.addEventListener("message", ({ data }) => resolve(data));
    worker.addEventListener("error", ({ message }) => reject(new Error(`the worker has failed: ${message}`)));
  });
}
