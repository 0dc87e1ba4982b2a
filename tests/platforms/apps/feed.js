/** What every page does: guards its feeds, shows the first, and leaves the outcomes to the test. */
import { guardFeeds } from "./shared.js";

/**
 * @param {Pick<typeof import("seenguard"), "SeenGuard">} seenguard
 * @param {() => Promise<typeof import("seenguard/formats")>} loadFormats
 * @param {() => Worker} [startWorker]
 */
export async function showFeed(seenguard, loadFormats, startWorker) {
  const outcomes = await guardFeeds(seenguard, loadFormats);
  for (const id of outcomes.page.before) {
    const entry = document.createElement("li");
    entry.textContent = id;
    document.querySelector("#feed")?.append(entry);
  }
  if (startWorker) outcomes.worker = await answerOf(startWorker());
  window.outcomes = outcomes;
}

/** @param {Worker} worker */
function answerOf(worker) {
  return new Promise((resolve, reject) => {
    worker.addEventListener("message", ({ data }) => resolve(data));
    worker.addEventListener("error", ({ message }) => reject(new Error(`the worker says: ${message}`)));
  });
}
