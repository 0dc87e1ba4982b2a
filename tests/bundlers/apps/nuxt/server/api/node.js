/** An endpoint. */
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../../../shared.js";

/** The edge compiles no Wasm. */
const fallback = () => import("seenguard/engine-js");

export default defineEventHandler(() => serve({ SeenGuard, ShardChain, plan, fallback }, scenario));
