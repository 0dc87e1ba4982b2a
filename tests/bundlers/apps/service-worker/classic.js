/** A classic service worker, with the script-tag files. */
importScripts(
  "../node_modules/seenguard/dist/seenguard.iife.js",
  "../node_modules/seenguard/dist/seenguard-engine-js.iife.js",
  "../shared.iife.js",
);

addEventListener("message", (event) => {
  event.waitUntil(Shared.guardFeeds(Seenguard, () => Seenguard).then((outcomes) => event.source.postMessage(outcomes)));
});
