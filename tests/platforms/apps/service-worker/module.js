/** A service worker of modules. It may import nothing on demand, so neither a chunk nor the engine as JavaScript. */
import { SeenGuard } from "../node_modules/seenguard/dist/index.js";
import { runScenario, scenario } from "../shared.js";

addEventListener("message", (event) => {
  event.waitUntil(runScenario({ SeenGuard }, scenario).then((page) => event.source.postMessage({ page })));
});
