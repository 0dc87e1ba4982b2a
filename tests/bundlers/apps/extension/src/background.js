/** The extension's service worker: guards a feed for the extension's page. */
import { SeenGuard } from "seenguard";
import { runScenario, scenario } from "../../shared.js";

chrome.runtime.onMessage.addListener((_message, _sender, respond) => {
  runScenario({ SeenGuard }, scenario, { namespace: "home:worker" }).then(respond);
  return true; // the answer comes later
});
