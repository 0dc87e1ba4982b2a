/**
 * Serves the demo in Node: `tsx www/server/main.ts`. Its last line of output is the address.
 *
 *     PORT          where to listen; default 4173, 0 for any free port
 *     HOST          default 127.0.0.1; 0.0.0.0 to try the demo from a phone in the same network
 *     BACK_END      "memory", the default; or seenguard-server, over "redis", "kafka" or "flink", which is started
 *     REDIS_URL     such as redis://127.0.0.1:6379: for the service's histories; otherwise a Redis is started
 *     BROKER        host:port of a Kafka broker with the topic seenguard-demo; otherwise one is started
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import { buildPage } from "../build.ts";
import type { BackEnd } from "./back-end.ts";
import { readCatalogue } from "./data.ts";
import { handlerOf } from "./handler.ts";
import { MemoryBackEnd } from "./memory.ts";
import { ServiceBackEnd } from "./service/back-end.ts";
import { startPipeline } from "./service/pipeline.ts";

const { PORT = "4173", HOST = "127.0.0.1", BACK_END = "memory", REDIS_URL = "", BROKER = "" } = process.env;

/** What the page may load: itself, and Wasm compiled from its own script. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; " +
  "base-uri 'none'; frame-ancestors 'self'";

/** Ends the processes next to the server, the last one first. */
const stops: (() => Promise<unknown>)[] = [];
const atEnd = (stop: () => Promise<unknown>): void => void stops.push(stop);

async function main(): Promise<void> {
  const root = await buildPage(log);
  const backEnd = await openBackEnd();
  const catalogue = await readCatalogue();
  const handler = handlerOf(backEnd, catalogue);

  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    context.header("content-security-policy", CONTENT_SECURITY_POLICY);
    context.header("x-content-type-options", "nosniff");
  });
  app.all("/api/*", ({ req }) => handler(req.raw));
  app.use(serveStatic({ root }));
  const server = serve({ fetch: app.fetch, port: Number(PORT), hostname: HOST });
  await once(server, "listening");
  atEnd(async () => {
    const closed = once(server, "close");
    server.close();
    if ("closeAllConnections" in server) server.closeAllConnections();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  log(`${String(catalogue.length)} items; histories are ${storageOf(backEnd)}`);
  log(`http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${String(port)}/`);
}

async function openBackEnd(): Promise<BackEnd> {
  switch (BACK_END) {
    case "memory": {
      const memory = new MemoryBackEnd();
      atEnd(() => memory.close());
      return memory;
    }
    case "redis":
    case "kafka":
    case "flink":
      return new ServiceBackEnd(
        await startPipeline({ kind: BACK_END, redisUrl: REDIS_URL, broker: BROKER, log, atEnd }),
      );
    default:
      throw new Error(`BACK_END is ${BACK_END}: memory, redis, kafka or flink`);
  }
}

function storageOf({ kind, dashboard }: BackEnd): string {
  const byKind = {
    memory: "in memory",
    redis: "in Redis, through a stream of Redis",
    kafka: "in Redis, through Kafka",
    flink: `in Redis, through Kafka and Flink: ${String(dashboard)}`,
  };
  return byKind[kind];
}

function log(line: string): void {
  console.log(line);
}

async function stop(): Promise<void> {
  for (let next = stops.pop(); next !== undefined; next = stops.pop()) await next();
}

// Also during the start: the processes started by then are ended.
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void stop().then(() => process.exit(0)));

main().catch(async (error: unknown) => {
  console.error(
    error instanceof Error && "code" in error && error.code === "EADDRINUSE"
      ? `port ${PORT} is in use: set PORT to another one, or to 0 for any free port`
      : error,
  );
  await stop();
  process.exit(1);
});
