/** Records what devices have reported, when it comes to it. */
import type { Report } from "seenguard/server";
import { consume } from "./queue.ts";
import { seen } from "./redis.ts";

console.log("the worker takes messages");
await consume<Report>((account, report) =>
  seen.update(account, (chain) => chain.take(report, { now: report.now / 1000 })),
);
