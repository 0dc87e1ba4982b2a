/** A server route. */
import { createFileRoute } from "@tanstack/react-router";
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../../shared.js";

export const Route = createFileRoute("/api/node")({
  server: { handlers: { GET: async () => Response.json(await serve({ SeenGuard, ShardChain, plan }, scenario)) } },
});
