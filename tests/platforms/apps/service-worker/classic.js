/** A classic service worker, with the script-tag file. */
importScripts("../node_modules/seenguard/dist/seenguard.iife.js", "../shared.iife.js");

addEventListener("message", (event) => {
  event.waitUntil(
    Shared.runScenario(Seenguard, Shared.scenario).then((seenguard) => event.source.postMessage({ seenguard })),
  );
});
