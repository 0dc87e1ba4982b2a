/**
 * A server in Node with the two compared routes of the service: `node --import tsx lab/benches/servers/node.ts` with
 * REDIS_URL.
 */
import fastify from "fastify";
import { Redis } from "ioredis";
import { redisStore, seenOf } from "seenguard/server";
import { namespaceOf, recommended } from "../scale/chains.ts";

const redis = new Redis(process.env.REDIS_URL ?? "", { enableAutoPipelining: true });
const store = redisStore(redis, { ...recommended, namespaceOf });

interface OfUser {
  Params: { user: string };
}

const app = fastify({ bodyLimit: 2 ** 21 });
app.post<OfUser & { Body: { ranked: string[]; size: number } }>("/v1/users/:user/page", (request) => {
  const { ranked, size } = request.body;
  return store.page(
    request.params.user,
    ranked.map((id) => ({ id })),
    { size, ...seenOf(request) },
  );
});
app.post<OfUser>("/v1/users/:user/impressions", async ({ params: { user }, body }, reply) => {
  await store.ingest(user, await store.accept(user, body));
  return reply.code(204).send();
});

console.log(`listening on ${await app.listen({ port: 0, host: "127.0.0.1" })}`);
