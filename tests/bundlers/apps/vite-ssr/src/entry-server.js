/** What renders the page on the server. */
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../shared.js";

export async function render() {
  const outcome = await serve({ SeenGuard, ShardChain, plan }, scenario);
  return `<pre id="server">${JSON.stringify(outcome)}</pre>`;
}
