/** An endpoint. */
import { json } from "@sveltejs/kit";
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../../../../shared.js";

/** The edge compiles no Wasm. */
const fallback = () => import("seenguard/engine-js");

export async function GET() {
  return json(await serve({ SeenGuard, ShardChain, plan, fallback }, scenario));
}
