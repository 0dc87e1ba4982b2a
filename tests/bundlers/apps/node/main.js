/** A server's program: prints what became of the page. */
import { SeenGuard } from "seenguard";
import { plan, ShardChain } from "seenguard/server";
import { scenario, serve } from "../shared.js";

console.log(JSON.stringify(await serve({ SeenGuard, ShardChain, plan }, scenario)));
