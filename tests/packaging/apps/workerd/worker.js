/** A worker at the edge that says nothing of how the package gets its Wasm. */
import * as seenguard from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import scenario from "../scenario.json";
import { runScenario } from "../scenario.js";
import { serve } from "../server.js";

export default {
  async fetch() {
    const served = await serve({ ShardChain, SeenGuard: seenguard.SeenGuard, plan }, scenario);
    return Response.json({ served, guarded: await runScenario(seenguard, scenario) });
  },
};
