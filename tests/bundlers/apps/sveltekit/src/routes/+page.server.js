/** The page's data, loaded on the server. */
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../../shared.js";

/** The edge compiles no Wasm. */
const fallback = () => import("seenguard/engine-js");

export async function load() {
  return { outcome: await serve({ SeenGuard, ShardChain, plan, fallback }, scenario) };
}
