/** A service worker of modules. It may import nothing on demand, so each import stands here. */
import { SeenGuard } from "../node_modules/seenguard/dist/index.js";
import * as engine from "../node_modules/seenguard/dist/engine-js.js";
import * as formats from "../node_modules/seenguard/dist/formats.js";
import * as formatsEngine from "../node_modules/seenguard/dist/formats-engine-js.js";
import { guardFeeds } from "../shared.js";

const fallback = async () => engine;
const formatsFallback = async () => formatsEngine;

addEventListener("message", (event) => {
  const guarded = guardFeeds({ SeenGuard, fallback, formatsFallback }, async () => formats);
  event.waitUntil(guarded.then((outcomes) => event.source.postMessage(outcomes)));
});
