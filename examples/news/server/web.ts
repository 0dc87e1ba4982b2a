/** Answers requests: PORT, by default 3000, with the Redis at REDIS_URL. */
import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { newsApp } from "./app.ts";

const redis = new Redis(process.env.REDIS_URL ?? "redis://localhost:6379");
const server = newsApp(redis).listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`http://localhost:${(server.address() as AddressInfo).port}/`);
});
