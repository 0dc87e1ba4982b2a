/** The backends of `seenguard/server` keep what the crate's `testing::promises` say, which call them over HTTP. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { memoryBackend, redisBackend, ShardChain, type Backend } from "seenguard/server";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { root } from "../../../scripts/lib/paths.mjs";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { kafka } from "../../../scripts/lib/service.mjs";

const PROMISES = 17;

/** The tests of the crate's stores, as the step `server` has compiled them. */
async function storesTest(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const stores = ["--package", "seenguard-server", "--features", `testing,${kafka}`, "--test", "server"];
  const options = { cwd: root, env: { ...process.env, ...env } };
  return (await promisify(execFile)("cargo", ["test", "--profile", "dev", ...stores, ...args], options)).stdout;
}
beforeAll(() => storesTest(["--no-run"]));

test("backends in TypeScript keep the promises of every backend", async () => {
  const redis = await startRedis();
  const client = new Redis(redis.url);
  // It starts the engine, which a store would have done.
  (await ShardChain.create()).free();
  const backends = new Map<string, Backend>();
  const make = (kind?: string, promise?: string) =>
    kind === "redis" ? redisBackend(client, { prefix: `${String(promise)}:` }) : memoryBackend();
  const server = createServer((request, response) => {
    const answer = async () => {
      const [, kind, promise, verb] = (request.url ?? "").split("/");
      const name = `${String(kind)}/${String(promise)}`;
      const backend = backends.get(name) ?? make(kind, promise);
      backends.set(name, backend);
      const [user, what] = (await json(request)) as [string, unknown];
      return backend[verb as keyof Backend](user, (what ?? undefined) as never);
    };
    answer().then(
      (value) => response.end(JSON.stringify(value ?? null)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    client.disconnect();
    await redis.stop();
  });
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const said = await storesTest(["--", "typescript"], { TYPESCRIPT_BACKENDS: url });
  expect(said).toContain(`${String(2 * PROMISES)} passed; 0 failed`);
});
