/** An API route. */
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../../../shared.js";

export async function GET() {
  return Response.json(await serve({ SeenGuard, ShardChain, plan }, scenario));
}
