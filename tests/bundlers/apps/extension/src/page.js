/** A page of the extension. */
import { SeenGuard } from "seenguard";
import { runScenario, scenario } from "../../shared.js";

runScenario({ SeenGuard }, scenario).then(async (page) => {
  window.outcomes = { page, worker: await chrome.runtime.sendMessage("the feed, please") };
});
