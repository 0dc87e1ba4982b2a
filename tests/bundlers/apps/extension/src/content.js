/** What the extension runs in a site's page. The site's own scripts see of it what is in the document. */
import { SeenGuard } from "seenguard";
import { runScenario, scenario } from "../../shared.js";

runScenario({ SeenGuard }, scenario).then((page) => {
  document.body.textContent = JSON.stringify({ page });
});
