/** Records what devices have reported, a moment later, as any stream processor does. */
import { Redis } from "ioredis";
import type { Report } from "seenguard/server";
import { consume } from "./queue.ts";
import { seenStories } from "./seen.ts";

const redis = new Redis(process.env.REDIS_URL ?? "redis://localhost:6379");
console.log("the worker takes reports");
await consume<Report>(redis, seenStories(redis).take);
