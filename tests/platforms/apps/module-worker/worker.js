/** A module worker that no bundler has seen. */
import { SeenGuard } from "../node_modules/seenguard/dist/index.js";
import { runScenario, scenario } from "../shared.js";

postMessage({ seenguard: await runScenario({ SeenGuard }, scenario) });
