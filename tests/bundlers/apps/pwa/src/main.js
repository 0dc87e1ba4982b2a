/** The page's script, with no data but what it needs: the build warns of a script that is too large. */
import { SeenGuard } from "seenguard";
import { runScenario, scenario } from "../../shared.js";

runScenario({ SeenGuard }, scenario).then((page) => {
  window.outcomes = { page };
});
