/** A worker that is bundled. */
import { SeenGuard } from "seenguard";
import { runScenario, scenario } from "../../shared.js";

runScenario({ SeenGuard }, scenario).then((seenguard) => postMessage({ seenguard }));
