/** A service worker of modules. */
import { SeenGuard } from "../node_modules/seenguard/dist/index.js";
import { runScenario, scenario } from "../shared.js";

addEventListener("message", (event) => {
  event.waitUntil(runScenario({ SeenGuard }, scenario).then((seenguard) => event.source.postMessage({ seenguard })));
});
