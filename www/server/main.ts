/**
 * Starts the demo: `tsx www/server/main.ts`. Its last line of output is the address.
 *
 *     PORT          where to listen; default 4173, 0 for any free port
 *     HOST          default 127.0.0.1; 0.0.0.0 to try the demo from a phone in the same network
 *     REDIS_URL     such as redis://127.0.0.1:6379; without it, everything is kept in memory
 *     SHARD_FORMAT  what is kept there: "seenguard", the default, or "go-bloomfilter", a list as a Go service has it
 *     CONSUMER      the name of this server's consumer in Redis, default "server"; "none" when others consume
 *     LOG_LEVEL     default "warn"
 */
import type { AddressInfo } from "node:net";
import { buildPage } from "../build.ts";
import { buildApp } from "./app.ts";
import { readCatalogue } from "./catalogue.ts";
import { MemoryStore } from "./memory/store.ts";
import { Consumer } from "./redis/consumer.ts";
import { RedisStore } from "./redis/store.ts";
import { ProblemLog, type Store } from "./store.ts";

const { PORT = "4173", HOST = "127.0.0.1", REDIS_URL, SHARD_FORMAT } = process.env;
const { CONSUMER = "server", LOG_LEVEL = "warn" } = process.env;

const problems = new ProblemLog(({ what, user }) => {
  console.error(user === undefined ? what : `${what} (${user})`);
});

function openStore(): { store: Store; consumer?: Consumer } {
  if (REDIS_URL === undefined || REDIS_URL === "") return { store: new MemoryStore(problems) };
  const store = new RedisStore(REDIS_URL, problems);
  return CONSUMER === "none" ? { store } : { store, consumer: new Consumer(REDIS_URL, { name: CONSUMER }, problems) };
}

async function main(): Promise<void> {
  const pageDirectory = await buildPage((step) => {
    console.log(step);
  });
  const { store, consumer } = openStore();
  const catalogue = readCatalogue();
  const app = buildApp({ store, catalogue, pageDirectory, logLevel: LOG_LEVEL });
  await app.listen({ port: Number(PORT), host: HOST });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      void app
        .close()
        .then(() => Promise.all([store.close(), consumer?.stop()]))
        .then(() => process.exit(0));
    });
  }
  const { port } = app.server.address() as AddressInfo;
  const kept = REDIS_URL ? "in Redis" : "in memory (set REDIS_URL to keep it in Redis)";
  const records = SHARD_FORMAT === "go-bloomfilter" ? ", as go-bloomfilter records" : "";
  console.log(`${String(catalogue.length)} items; what people have seen is kept ${kept}${records}`);
  console.log(`http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${String(port)}/`);
}

main().catch((error: unknown) => {
  console.error(
    error instanceof Error && "code" in error && error.code === "EADDRINUSE"
      ? `port ${PORT} is taken: set PORT to another, or to 0 for any free one`
      : error,
  );
  process.exit(1);
});
