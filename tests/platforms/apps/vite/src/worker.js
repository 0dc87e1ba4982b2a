/** A worker that guards a feed. */
import { SeenGuard } from "seenguard";
import { runScenario, scenario } from "../../shared.js";

runScenario({ SeenGuard }, scenario, { namespace: "home:worker" }).then((outcome) => postMessage(outcome));
