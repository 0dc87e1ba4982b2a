/**
 * The server's routes: pages of items, reports of devices, and the controls of the demo's stream.
 *
 *     GET    /api/users/:user/feed?turn=7&size=10   a page, with the state that it was filtered against, and what of it
 *                                                   another device has shown; "degraded" where the store does not tell
 *     GET    /api/users/:user/pool?cursor=…&size=10   a page of this person's small pool, what was seen at its end;
 *                                                   "degraded" without a state where the store does not answer
 *     POST   /api/users/:user/impressions           a report: {"namespace": "…", "now": 1764000000000,
 *                                                   "impressions": [{"id": "…", "at": 1764000000000}], "unseen": []}
 *     DELETE /api/users/:user/history               deletes what this person has seen, on the devices too
 *     GET    /api/users/:user/status?state=…        the stream's state, and the snapshot where it is another
 *     PUT    /api/users/:user/stream                {"running": true, "lagSeconds": 60, "losesEvents": false,
 *                                                   "replicaLags": false}, any of them
 *     POST   /api/users/:user/flush                 the store loses this person's shards
 *     GET    /api/items/:id                         one item
 *     GET    /api/status                            the store's state, what has gone wrong lately, and Flink's page
 *
 * Where a state is shipped, the request's header `Seen-Held` says which shards the device holds, and these are shipped
 * as references; `Seen-Pending` says what it has shown that no state has had yet. Such a response is for this device
 * alone (`Cache-Control: private`).
 *
 * A report's times are Unix milliseconds of the device's clock. Sending one again changes nothing. Errors are {"error": {"code", "message"}}.
 */
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import fastifyStatic from "@fastify/static";
import { seenOf, SeenGuardError, type ShardChain } from "seenguard/server";
import { groupIdOf, type Item } from "./catalogue.ts";
import { stateOf, withChain } from "./chain.ts";
import { shownElsewhere } from "./devices.ts";
import { eventsOf } from "./events.ts";
import { poolOf, recallPage } from "./recall.ts";
import { MOST_LAG_SECONDS, StoreUnavailable, StreamFull, type Store, type StreamControl } from "./store.ts";

const USER = { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" } as const;
const PARAMS = { type: "object", required: ["user"], properties: { user: USER } } as const;
const WHOLE_NUMBER = { type: "string", pattern: "^[0-9]{1,16}$" } as const;

const SIZE = { type: "string", pattern: "^([1-9]|[1-9][0-9]|100)$" } as const;

const FEED_QUERY = {
  type: "object",
  required: ["turn"],
  properties: { turn: WHOLE_NUMBER, size: SIZE },
  additionalProperties: false,
} as const;

const POOL_QUERY = {
  type: "object",
  properties: { cursor: { type: "string", maxLength: 4096 }, size: SIZE },
  additionalProperties: false,
} as const;

const STATUS_QUERY = {
  type: "object",
  properties: { state: { type: "string", maxLength: 64 } },
  additionalProperties: false,
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
  /** Where Flink's own page is, if Flink takes the impressions in. */
  readonly flink?: { readonly dashboard: string };
  readonly logLevel: string;
}

/** The whole server, not yet listening. */
export function buildApp({ store, catalogue, pageDirectory, flink, logLevel }: AppOptions): FastifyInstance {
  const app = Fastify({
    logger: { level: logLevel },
    bodyLimit: 512 * 1024,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  });
  app.addHook("onSend", (_request, reply, _payload, done) => {
    reply.header("content-security-policy", CONTENT_SECURITY_POLICY).header("x-content-type-options", "nosniff");
    done();
  });
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send(errorBody("not-found", `there is nothing at ${request.method} ${request.url}`)),
  );
  addItemRoute(app, catalogue);
  addFeedRoutes(app, store, catalogue);
  addStreamRoutes(app, store, flink);
  if (pageDirectory !== undefined) app.register(fastifyStatic, { root: pageDirectory });
  return app;
}

function addItemRoute(app: FastifyInstance, catalogue: readonly Item[]): void {
  const items = new Map(catalogue.map((item) => [item.id, item]));
  app.get<{ Params: { id: string } }>("/api/items/:id", ({ params: { id } }, reply) =>
    reply
      .code(items.has(id) ? 200 : 404)
      .send(items.get(id) ?? errorBody("not-found", "there is no such item in the catalogue")),
  );
}

function addFeedRoutes(app: FastifyInstance, store: Store, catalogue: readonly Item[]): void {
  app.get<ForUser & { Querystring: { turn: string; size?: string } }>(
    "/api/users/:user/feed",
    { schema: { params: PARAMS, querystring: FEED_QUERY } },
    async (request, reply) => {
      const { user } = request.params;
      const { turn, size } = request.query;
      // Replicas take turns, as behind a balancer: the state flaps when one of them lags.
      const { held, pending } = seenOf(request);
      const before = await store.seen(user);
      try {
        const reading = Number(turn) % 2 === 0 ? store.replicaSeen(user) : store.seen(user);
        // One answer for both columns: what a server offers that knows the stream alone, and what of that is to be
        // left out.
        const page = await answerPage(request, reply, reading, (chain) => ({
          items: recallPage(catalogue, user, Number(turn), Number(size ?? 10), (all) =>
            chain.filter(all, { id: groupIdOf }),
          ),
          snapshot: chain.snapshot({ held }),
        }));
        return { ...page, ...(await shownElsewhere(store, before, user, page.items, pending)) };
      } finally {
        before.free();
      }
    },
  );

  app.get<ForUser & { Querystring: { cursor?: string; size?: string } }>(
    "/api/users/:user/pool",
    { schema: { params: PARAMS, querystring: POOL_QUERY } },
    async (request, reply) => {
      const { user } = request.params;
      const { cursor, size } = request.query;
      forThisDevice(reply);
      const page = { size: Number(size ?? 10), cursor, ...seenOf(request) };
      return store.page(user, poolOf(catalogue, user), { ...page, repeats: "last" });
    },
  );

  app.post<ForUser>(
    "/api/users/:user/impressions",
    { schema: { params: PARAMS } },
    async ({ params: { user }, body }, reply) => {
      const events = eventsOf(await store.accept(user, body));
      await store.enqueue(user, events);
      return reply.code(202).send({ accepted: events.length });
    },
  );

  app.delete<ForUser>("/api/users/:user/history", { schema: { params: PARAMS } }, async ({ params }, reply) => {
    await store.forget(params.user);
    return reply.code(204).send();
  });
}

/** The state is read once: the page is filtered against it and ships with it, before any of the page is recorded. */
function answerPage<T extends { snapshot: object }>(
  request: FastifyRequest,
  reply: FastifyReply,
  reading: Promise<ShardChain>,
  answer: (chain: ShardChain) => T,
): Promise<T> {
  forThisDevice(reply);
  return withChain(reading, (chain) => {
    if (chain.rejected.length > 0)
      request.log.warn({ rejected: chain.rejected }, "stored shards that cannot be read are left out");
    return answer(chain);
  });
}

/** No shared cache may give an answer with references to another device, and no old answer may pass for a new one. */
function forThisDevice(reply: FastifyReply): void {
  reply.header("cache-control", "private, no-cache").header("vary", "seen-held, seen-pending");
}

function addStreamRoutes(app: FastifyInstance, store: Store, flink: AppOptions["flink"]): void {
  app.get<ForUser & { Querystring: { state?: string } }>(
    "/api/users/:user/status",
    { schema: { params: PARAMS, querystring: STATUS_QUERY } },
    async (request, reply) => {
      const { user } = request.params;
      forThisDevice(reply);
      const stream = await store.stream(user);
      return withChain(store.seen(user), (chain) => {
        const snapshot = chain.snapshot({ held: seenOf(request).held });
        const state = stateOf(chain);
        const status = { stream, unreadable: chain.rejected, state };
        return state === request.query.state ? status : { ...status, snapshot };
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
    const consumer = flink && { flink: { dashboard: flink.dashboard } };
    return reply.code(status.available ? 200 : 503).send({ ...status, ...consumer });
  });
}

/** Of what `accept` refuses. */
const STATUS_OF_REPORT: Readonly<Record<string, number>> = { "bad-report": 400, "too-large": 413 };

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
      .send(errorBody("stream-full", "too many events wait in this person's stream; try again later"));
  }
  const ofReport = error instanceof SeenGuardError ? STATUS_OF_REPORT[error.code] : undefined;
  if (ofReport !== undefined) return reply.code(ofReport).send(errorBody(error.code, error.message));
  const status = error.statusCode ?? 500;
  if (status < 500)
    return reply.code(status).send(errorBody(error.validation ? "bad-request" : error.code, error.message));
  request.log.error(error);
  return reply.code(500).send(errorBody("internal", "something went wrong here; the server's log says what"));
}

function errorBody(code: string, message: string): { error: { code: string; message: string } } {
  return { error: { code, message } };
}
