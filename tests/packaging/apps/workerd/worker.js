/** A worker at the edge: where no Wasm is compiled, the engines are JavaScript; `/wasm` imports the modules. */
import * as seenguard from "seenguard";
import wasm from "seenguard/seenguard.wasm";
import { plan, ShardChain } from "seenguard/server";
import * as withWasm from "seenguard/server/workerd";
import * as slim from "seenguard/slim";
import scenario from "../scenario.json";
import { runScenario } from "../scenario.js";
import { serve } from "../server.js";

const { SeenGuard } = seenguard;
const fallback = () => import("seenguard/engine-js");

export default {
  /** @param {Request} request */
  async fetch({ url }) {
    const isWasm = url.endsWith("/wasm");
    const server = isWasm ? withWasm : { ShardChain, plan };
    const served = await serve({ ...server, SeenGuard, fallback }, scenario);
    const guarded = await (isWasm
      ? runScenario(slim, scenario, { wasm })
      : runScenario(seenguard, scenario, { fallback }));
    return Response.json({ served, guarded });
  },
};
