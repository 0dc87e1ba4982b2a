/** A route handler on the edge runtime. */
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../../../shared.js";

export const runtime = "edge";

const fallback = () => import("seenguard/engine-js");

export async function GET() {
  return Response.json(await serve({ SeenGuard, ShardChain, plan, fallback }, scenario));
}
