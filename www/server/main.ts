/**
 * Starts the demo: `tsx www/server/main.ts`. Its last line of output is the address.
 *
 *     PORT          where to listen; default 4173, 0 for any free port
 *     HOST          default 127.0.0.1; 0.0.0.0 to try the demo from a phone in the same network
 *     REDIS_URL     such as redis://127.0.0.1:6379; without it, everything is kept in memory
 *     SHARD_FORMAT  what is kept there: "seenguard", the default, or "go-bloomfilter", a list as a Go service has it
 *     CONSUMER      the name of this server's consumer in Redis, default "server"; "none" when others consume; "flink"
 *                   for a Flink job between Kafka and seenguard-server, which pages come from then: all are built and
 *                   started, and a Redis if REDIS_URL names none
 *     SERVER        "rust": pages come from seenguard-server, and its consumer takes the impressions in; both are
 *                   built and started, and a Redis if REDIS_URL names none
 *     LOG_LEVEL     default "warn"
 */
import type { AddressInfo } from "node:net";
import { buildPage } from "../build.ts";
import { startRedis } from "../../scripts/lib/redis.mjs";
import { buildApp } from "./app.ts";
import { readCatalogue } from "./catalogue.ts";
import { startFlink } from "./flink/flink.ts";
import { MemoryStore } from "./memory/store.ts";
import { Consumer } from "./redis/consumer.ts";
import { RedisStore } from "./redis/store.ts";
import { startRustServer, type RunningRustServer } from "./rust/server.ts";
import { ProblemLog, type Store } from "./store.ts";

const { PORT = "4173", HOST = "127.0.0.1", REDIS_URL = "", SHARD_FORMAT } = process.env;
const { CONSUMER = "server", SERVER = "node", LOG_LEVEL = "warn" } = process.env;

const problems = new ProblemLog(({ what, user }) => {
  console.error(user === undefined ? what : `${what} (${user})`);
});

/** What runs beside the server, to be ended after it, the last one first. */
const stops: (() => Promise<void>)[] = [];

async function main(): Promise<void> {
  const pageDirectory = await buildPage(say);
  const needsRedis = CONSUMER === "flink" || SERVER === "rust";
  const redisUrl = REDIS_URL === "" && needsRedis ? await startOwnRedis() : REDIS_URL;
  const flink = CONSUMER === "flink" ? await startFlink(redisUrl, say) : undefined;
  const rust = flink ?? (SERVER === "rust" ? await startRustServer(redisUrl, say) : undefined);
  if (rust !== undefined) stops.push(() => rust.stop());
  const store = openStore(redisUrl, rust);
  const catalogue = await readCatalogue();
  const app = buildApp({ store, catalogue, pageDirectory, logLevel: LOG_LEVEL, ...(flink && { flink }) });
  stops.push(() => app.close());
  await app.listen({ port: Number(PORT), host: HOST });
  const { port } = app.server.address() as AddressInfo;
  const kept = redisUrl === "" ? "in memory (set REDIS_URL to keep it in Redis)" : "in Redis";
  const records = SHARD_FORMAT === "go-bloomfilter" ? ", as go-bloomfilter records" : "";
  say(`${String(catalogue.length)} items; what people have seen is kept ${kept}${records}`);
  if (rust !== undefined) say(`pages come from seenguard-server: ${rust.url}`);
  if (flink !== undefined) say(`Flink takes the impressions in: ${flink.dashboard}`);
  say(`http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${String(port)}/`);
}

function say(line: string): void {
  console.log(line);
}

function openStore(redisUrl: string, rust: RunningRustServer | undefined): Store {
  if (redisUrl === "") {
    const store = new MemoryStore(problems);
    stops.push(() => store.close());
    return store;
  }
  // Flink's own lag is there to be seen.
  const store = new RedisStore(redisUrl, problems, {
    ...(CONSUMER === "flink" && { lagSeconds: 0 }),
    ...(rust && { stored: rust.stored, fieldsOf: rust.fieldsOf }),
  });
  stops.push(() => store.close());
  if (rust === undefined && CONSUMER !== "none") {
    const consumer = new Consumer(redisUrl, { name: CONSUMER }, problems);
    stops.push(() => consumer.stop());
  }
  return store;
}

async function startOwnRedis(): Promise<string> {
  const redis = await startRedis();
  stops.push(() => redis.stop());
  return redis.url;
}

async function stop(): Promise<void> {
  for (let next = stops.pop(); next !== undefined; next = stops.pop()) await next();
}

// Also while it starts: what has been started by then is ended.
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stop().then(() => process.exit(0)));

main().catch(async (error: unknown) => {
  console.error(
    error instanceof Error && "code" in error && error.code === "EADDRINUSE"
      ? `port ${PORT} is taken: set PORT to another, or to 0 for any free one`
      : error,
  );
  await stop();
  process.exit(1);
});
