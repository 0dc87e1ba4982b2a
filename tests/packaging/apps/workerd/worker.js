/** A worker at the edge: where no Wasm is compiled, the engine is JavaScript; `/wasm` imports the module. */
import * as seenguard from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import * as withWasm from "seenguard/server/workerd";
import scenario from "../scenario.json";
import { runScenario } from "../scenario.js";
import { serve } from "../server.js";

const { SeenGuard } = seenguard;
const fallback = () => import("seenguard/engine-js");

export default {
  /** @param {Request} request */
  async fetch({ url }) {
    const server = url.endsWith("/wasm") ? withWasm : { ShardChain, plan };
    const served = await serve({ ...server, SeenGuard, fallback }, scenario);
    const guarded = await runScenario(seenguard, scenario, { fallback });
    return Response.json({ served, guarded });
  },
};
