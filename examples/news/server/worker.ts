/** Records the reports in the queue. */
import type { ReceivedReport } from "seenguard/server";
import { consume } from "./queue.ts";
import { seen } from "./redis.ts";

console.log("the worker reads the queue");
await consume<ReceivedReport>((account, report) => seen.ingest(account, report));
