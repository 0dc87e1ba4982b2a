/**
 * The server's routes: pages of items, impressions, and the controls of the demo's stream.
 *
 *     GET  /api/users/:user/feed?turn=7&size=10   a page, with the state that it was filtered against
 *     POST /api/users/:user/impressions           {"impressions": [{"id": "…", "at": 1764000000000}]}
 *     GET  /api/users/:user/status?version=…      the stream's state, and the seen state where its version is another
 *     PUT  /api/users/:user/stream                {"running": true, "lagSeconds": 60, "losesEvents": false,
 *     "replicaLags": false},
 *                                                 any of them
 *     POST /api/users/:user/flush                 the store loses this person's shards
 *     GET  /api/status                            the store's state, and what has gone wrong lately
 *
 * An impression's `at` is Unix milliseconds. Sending one again changes nothing. A beacon carries the same JSON as
 * text/plain. Errors are {"error": {"code", "message"}}.
 */
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import fastifyStatic from "@fastify/static";
import { withChain } from "./chain.ts";
import type { Item } from "./catalogue.ts";
import { recallPage } from "./recall.ts";
import {
  MOST_LAG_SECONDS,
  StoreUnavailable,
  StreamFull,
  type Impression,
  type Store,
  type StreamControl,
} from "./store.ts";

const USER = { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" } as const;
const PARAMS = { type: "object", required: ["user"], properties: { user: USER } } as const;
const WHOLE_NUMBER = { type: "string", pattern: "^[0-9]{1,16}$" } as const;

const FEED_QUERY = {
  type: "object",
  required: ["turn"],
  properties: { turn: WHOLE_NUMBER, size: { type: "string", pattern: "^([1-9]|[1-9][0-9]|100)$" } },
  additionalProperties: false,
} as const;

const STATUS_QUERY = { type: "object", properties: { version: WHOLE_NUMBER }, additionalProperties: false } as const;

const IMPRESSIONS_BODY = {
  type: "object",
  required: ["impressions"],
  properties: {
    impressions: {
      type: "array",
      maxItems: 1000,
      items: {
        type: "object",
        required: ["id", "at"],
        properties: {
          id: { type: "string", maxLength: 2048 },
          at: { type: "integer", minimum: 0, maximum: 2 ** 53 - 1 },
        },
      },
    },
  },
} as const;

const STREAM_BODY = {
  type: "object",
  minProperties: 1,
  properties: {
    running: { type: "boolean" },
    lagSeconds: { type: "number", minimum: 0, maximum: MOST_LAG_SECONDS },
    losesEvents: { type: "boolean" },
    replicaLags: { type: "boolean" },
  },
  additionalProperties: false,
} as const;

/** What the page may load: itself, and Wasm compiled from its own script. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; " +
  "base-uri 'none'; frame-ancestors 'self'";

interface ForUser {
  Params: { user: string };
}

export interface AppOptions {
  readonly store: Store;
  readonly catalogue: readonly Item[];
  /** The built page; without it, only the API is served. */
  readonly pageDirectory?: string;
  readonly logLevel: string;
}

/** The whole server, not yet listening. */
export function buildApp({ store, catalogue, pageDirectory, logLevel }: AppOptions): FastifyInstance {
  const app = Fastify({
    logger: { level: logLevel },
    bodyLimit: 512 * 1024,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  });
  // A page that closes sends its last impressions by a beacon, which browsers let through as text alone.
  app.removeContentTypeParser("text/plain");
  app.addContentTypeParser("text/plain", { parseAs: "string" }, app.getDefaultJsonParser("error", "error"));
  app.addHook("onSend", (_request, reply, _payload, done) => {
    reply.header("content-security-policy", CONTENT_SECURITY_POLICY).header("x-content-type-options", "nosniff");
    done();
  });
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send(errorBody("not-found", `there is nothing at ${request.method} ${request.url}`)),
  );
  addFeedRoutes(app, store, catalogue);
  addStreamRoutes(app, store);
  if (pageDirectory !== undefined) app.register(fastifyStatic, { root: pageDirectory });
  return app;
}

function addFeedRoutes(app: FastifyInstance, store: Store, catalogue: readonly Item[]): void {
  app.get<ForUser & { Querystring: { turn: string; size?: string } }>(
    "/api/users/:user/feed",
    { schema: { params: PARAMS, querystring: FEED_QUERY } },
    async ({ params: { user }, query: { turn, size }, log }, reply) => {
      reply.header("cache-control", "no-store");
      // The state is read once: the page is filtered against it and ships with it, before any of the page is recorded.
      // Replicas take turns, as behind a balancer: the state flaps when one of them lags.
      const shards = await (Number(turn) % 2 === 0 ? store.replicaShards(user) : store.shards(user));
      return withChain(shards, (chain) => {
        if (chain.rejected.length > 0)
          log.warn({ user, rejected: chain.rejected }, "stored shards that cannot be read are left out");
        const items = recallPage(catalogue, user, Number(turn), Number(size ?? 10), (all) => chain.filter(all));
        return { items, seen: chain.snapshot() };
      });
    },
  );

  app.post<ForUser & { Body: { impressions: Impression[] } }>(
    "/api/users/:user/impressions",
    { schema: { params: PARAMS, body: IMPRESSIONS_BODY } },
    async ({ params: { user }, body: { impressions } }, reply) => {
      await store.accept(user, impressions);
      return reply.code(202).send({ accepted: impressions.length });
    },
  );
}

function addStreamRoutes(app: FastifyInstance, store: Store): void {
  app.get<ForUser & { Querystring: { version?: string } }>(
    "/api/users/:user/status",
    { schema: { params: PARAMS, querystring: STATUS_QUERY } },
    async ({ params: { user }, query: { version } }, reply) => {
      reply.header("cache-control", "no-store");
      const stream = await store.stream(user);
      return withChain(await store.shards(user), (chain) => {
        const seen = chain.snapshot();
        const unreadable = chain.rejected;
        return String(seen.version) === version ? { stream, unreadable } : { stream, unreadable, seen };
      });
    },
  );

  app.put<ForUser & { Body: Partial<StreamControl> }>(
    "/api/users/:user/stream",
    { schema: { params: PARAMS, body: STREAM_BODY } },
    ({ params: { user }, body }) => store.control(user, body),
  );

  app.post<ForUser>("/api/users/:user/flush", { schema: { params: PARAMS } }, async ({ params: { user } }, reply) => {
    await store.flush(user);
    return reply.code(204).send();
  });

  app.get("/api/status", async (_request, reply) => {
    const status = await store.status();
    return reply.code(status.available ? 200 : 503).send(status);
  });
}

function answerError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof StoreUnavailable) {
    return reply
      .code(503)
      .header("retry-after", "1")
      .send(errorBody("store-unavailable", "the store cannot be reached now; try again"));
  }
  if (error instanceof StreamFull) {
    return reply
      .code(429)
      .header("retry-after", "60")
      .send(errorBody("stream-full", "too many impressions wait in this person's stream; try again later"));
  }
  const status = error.statusCode ?? 500;
  if (status < 500)
    return reply.code(status).send(errorBody(error.validation ? "bad-request" : error.code, error.message));
  request.log.error(error);
  return reply.code(500).send(errorBody("internal", "something went wrong here; the server's log says what"));
}

function errorBody(code: string, message: string): { error: { code: string; message: string } } {
  return { error: { code, message } };
}
