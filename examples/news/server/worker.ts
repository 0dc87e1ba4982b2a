/** Records what devices have reported, when it comes to it. */
import type { ReceivedReport } from "seenguard/server";
import { consume } from "./queue.ts";
import { seen } from "./redis.ts";

console.log("the worker takes messages");
await consume<ReceivedReport>((account, report) => seen.ingest(account, report));
