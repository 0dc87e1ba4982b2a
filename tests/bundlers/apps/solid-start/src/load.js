"use server";
/** What the server knows. */
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../shared.js";

export async function load() {
  return serve({ SeenGuard, ShardChain, plan }, scenario);
}
