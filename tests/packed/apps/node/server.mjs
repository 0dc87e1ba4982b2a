/** A server of ES modules: goes on from what its store holds, records a page, and ships the result to a guard. */
import { readFileSync } from "node:fs";
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { serve } from "../server.js";

const fallback = () => import("seenguard/engine-js");
const scenario = JSON.parse(readFileSync(new URL("../scenario.json", import.meta.url), "utf8"));
console.log(JSON.stringify(await serve({ ShardChain, SeenGuard, plan, fallback }, scenario)));
