/** A worker that guards a feed. */
import { SeenGuard } from "seenguard";
import * as engine from "seenguard/engine-js";
import { runScenario, scenario } from "../../shared.js";

// A worker is one file: what it imports on demand would be in it, too, and some bundlers refuse that.
const fallback = () => Promise.resolve(engine);
runScenario({ SeenGuard }, scenario, { namespace: "home:worker", fallback }).then((outcome) => postMessage(outcome));
