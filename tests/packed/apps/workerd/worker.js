/**
 * A worker at the edge, where no bytes are compiled: the server's engine is what the tool took that bundled this, and
 * the guard's is JavaScript, or at `/wasm` the module.
 */
import * as seenguard from "seenguard";
import { NearDuplicates, simhash } from "seenguard/near-duplicates";
import wasm from "seenguard/seenguard.wasm";
import { plan, ShardChain } from "seenguard/server";
import * as slim from "seenguard/slim";
import scenario from "../scenario.json";
import { runScenario } from "../scenario.js";
import { serve } from "../server.js";

const { SeenGuard } = seenguard;
const fallback = () => import("seenguard/engine-js");

export default {
  /** @param {Request} request */
  async fetch({ url }) {
    const served = await serve({ ShardChain, plan, SeenGuard, fallback }, scenario);
    const duplicates = await NearDuplicates.create();
    const group = duplicates.groupOf(simhash(["a", "text"]), "a");
    const guarded = await (url.endsWith("/wasm")
      ? runScenario(slim, scenario, { wasm })
      : runScenario(seenguard, scenario, { fallback }));
    return Response.json({ served, group, guarded });
  },
};
