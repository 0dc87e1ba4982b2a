/** A worker at the edge. */
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../shared.js";

const fallback = () => import("seenguard/engine-js");

export default {
  async fetch() {
    return Response.json(await serve({ SeenGuard, ShardChain, plan, fallback }, scenario));
  },
};
