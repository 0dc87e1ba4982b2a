/**
 * The server as one function from a `Request` to a `Response`: it runs wherever these exist, in a page's worker, too.
 *
 *     GET    /api/users/:user/feed?turn=7&size=10   a page, with the snapshot that it was filtered against, and its items
 *                                                   that another device has shown; "degraded" without the store
 *     GET    /api/users/:user/pool?cursor=…&size=10   a page of this person's small pool, seen items at its end;
 *                                                   "degraded" and without a snapshot if the store fails
 *     POST   /api/users/:user/impressions           a report: {"namespace": "…", "now": 1764000000000,
 *                                                   "impressions": [{"id": "…", "at": 1764000000000}], "unseen": []}
 *     DELETE /api/users/:user/history               deletes what this person has seen, on the devices too
 *     GET    /api/users/:user/status?state=…        the stream's state, and the snapshot if it has changed
 *     PUT    /api/users/:user/stream                {"running": true, "lagSeconds": 60, "losesEvents": false,
 *                                                   "replicaLags": false}, any of them that the back end supports
 *     POST   /api/users/:user/flush                 the store loses this person's shards
 *     GET    /api/items/:id                         one item
 *     GET    /api/status                            the kind of back end, what it does not support, and Flink's page
 *
 * If a response has a snapshot, the request's header `Seen-Held` names the shards that the device holds, which are sent as
 * references, and `Seen-Pending` lists its pending ids. Such a response is for this device only (`Cache-Control: private`).
 *
 * A report's times are Unix milliseconds of the device's clock. Sending one again changes nothing. Errors are
 * {"error": {"code", "message"}}.
 */
import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { seenOf, SeenGuardError } from "seenguard/server";
import { MAX_LAG_SECONDS, Refused, type BackEnd, type Condition, type StreamControl } from "./back-end.ts";
import { groupIdOf, type Item } from "./catalogue.ts";
import { stateOf, withChain } from "./chain.ts";
import { shownElsewhere } from "./devices.ts";
import { poolOf, recallPage } from "./recall.ts";

const MAX_BODY_BYTES = 512 * 1024;
const MAX_ITEMS = 100;
const MAX_CURSOR_LENGTH = 4096;

export type Handler = (request: Request) => Promise<Response>;

export function handlerOf(backEnd: BackEnd, catalogue: readonly Item[]): Handler {
  const app = new Hono();
  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES, onError: tooLarge }));
  app.onError(errorResponse);
  app.notFound(({ req }) => refusal(404, "not-found", `there is nothing at ${req.method} ${req.path}`));
  app.route("/api/users/:user", feedOf(backEnd, catalogue));
  app.route("/api/users/:user", streamOf(backEnd));

  const items = new Map(catalogue.map((item) => [item.id, item]));
  app.get("/api/items/:id", (context) => {
    const item = items.get(context.req.param("id"));
    if (item === undefined) throw new Refused(404, "not-found", "there is no such item in the catalogue");
    return context.json(item);
  });
  app.get("/api/status", (context) => {
    const { kind, cannot, dashboard } = backEnd;
    return context.json({ kind, cannot, dashboard });
  });
  return async (request) => app.fetch(request);
}

function feedOf(backEnd: BackEnd, catalogue: readonly Item[]): Hono {
  const routes = new Hono();
  routes.get("/feed", async (context) => {
    const user = userOf(context);
    const turn = wholeNumber(context, "turn", undefined, 0, Number.MAX_SAFE_INTEGER);
    const size = sizeOf(context);
    const { held, pending } = seenOf(context.req.raw);
    const before = await backEnd.read(user);
    try {
      // Replicas alternate, as behind a load balancer: the state alternates when one of them lags. It is read once: the
      // page is filtered against it and sent with it, before any of its items is recorded.
      const isReplica = turn % 2 === 0 && backEnd.readReplica !== undefined;
      const reading = isReplica ? backEnd.readReplica(user) : backEnd.read(user);
      // One response for both columns: the page by the stream alone, and its items that another device has shown.
      const page = await withChain(reading, (chain) => ({
        items: recallPage(catalogue, user, turn, size, (all) => chain.filter(all, { id: groupIdOf })),
        snapshot: chain.snapshot({ held }),
      }));
      const elsewhere = await shownElsewhere(backEnd, before, user, page.items, pending);
      return forThisDevice(context).json({ ...page, ...elsewhere });
    } finally {
      before.free();
    }
  });

  routes.get("/pool", async (context) => {
    const user = userOf(context);
    const cursor = context.req.query("cursor");
    if (cursor !== undefined && cursor.length > MAX_CURSOR_LENGTH)
      throw badRequest("the cursor is not one of this server");
    const options = { size: sizeOf(context), cursor, ...seenOf(context.req.raw), repeats: "last" } as const;
    return forThisDevice(context).json(await backEnd.page(user, poolOf(catalogue, user), options));
  });

  routes.post("/impressions", async (context) => {
    await backEnd.report(userOf(context), await bodyOf(context));
    return context.body(null, 204);
  });

  routes.delete("/history", async (context) => {
    await backEnd.forget(userOf(context));
    return context.body(null, 204);
  });
  return routes;
}

function streamOf(backEnd: BackEnd): Hono {
  const routes = new Hono();
  routes.get("/status", async (context) => {
    const user = userOf(context);
    const stream = await backEnd.stream(user);
    return withChain(backEnd.read(user), async (chain) => {
      const snapshot = chain.snapshot({ held: seenOf(context.req.raw).held });
      const state = await stateOf(chain);
      const status = { stream, state };
      return forThisDevice(context).json(state === context.req.query("state") ? status : { ...status, snapshot });
    });
  });

  routes.put("/stream", async (context) => {
    const user = userOf(context);
    const change = streamChange(await bodyOf(context));
    for (const name of Object.keys(change) as Condition[]) refuseUnsupported(name);
    await backEnd.control(user, change);
    return context.json(await backEnd.stream(user));
  });

  routes.post("/flush", async (context) => {
    refuseUnsupported("flush");
    await backEnd.flush?.(userOf(context));
    return context.body(null, 204);
  });
  return routes;

  function refuseUnsupported(condition: Condition): void {
    const reason = backEnd.cannot[condition];
    if (reason !== undefined) throw new Refused(409, "not-here", reason);
  }
}

/** No shared cache may send a response with references to another device, or an outdated response. */
function forThisDevice(context: Context): Context {
  context.header("cache-control", "private, no-cache");
  context.header("vary", "seen-held, seen-pending");
  return context;
}

function userOf({ req }: Context): string {
  const user = req.param("user") ?? "";
  if (!/^[\w-]{1,64}$/.test(user)) throw badRequest("a user is 1 to 64 letters, digits, _ and -");
  return user;
}

const sizeOf = (context: Context): number => wholeNumber(context, "size", "10", 1, MAX_ITEMS);

function wholeNumber({ req }: Context, name: string, fallback: string | undefined, min: number, max: number) {
  const given = req.query(name) ?? fallback ?? "";
  const value = Number(given);
  if (!/^\d+$/.test(given) || value < min || value > max)
    throw badRequest(`${name} is a whole number from ${String(min)} to ${String(max)}`);
  return value;
}

async function bodyOf({ req }: Context): Promise<unknown> {
  const text = await req.text();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw badRequest("the body is not JSON");
  }
}

const isOf: Readonly<Record<keyof StreamControl, (value: unknown) => boolean>> = {
  running: (value) => typeof value === "boolean",
  lagSeconds: (value) => typeof value === "number" && value >= 0 && value <= MAX_LAG_SECONDS,
  losesEvents: (value) => typeof value === "boolean",
  replicaLags: (value) => typeof value === "boolean",
};

function streamChange(body: unknown): Partial<StreamControl> {
  const fields = typeof body === "object" && body !== null ? Object.entries(body) : [];
  const known = fields.every(([name, value]) => Object.hasOwn(isOf, name) && isOf[name as keyof StreamControl](value));
  if (fields.length === 0 || !known) throw badRequest(`the body has any of ${Object.keys(isOf).join(", ")}`);
  return body as Partial<StreamControl>;
}

const badRequest = (message: string): Refused => new Refused(400, "bad-request", message);

function tooLarge(): never {
  throw new Refused(413, "too-large", `a body has ${String(MAX_BODY_BYTES)} bytes at most`);
}

/** The status for each reason of a refused report. */
const STATUS_OF_REPORT: Readonly<Record<string, number>> = { "bad-report": 400, "too-large": 413 };

function errorResponse(error: Error): Response {
  if (error instanceof Refused) return refusal(error.status, error.code, error.message);
  if (error instanceof SeenGuardError && Object.hasOwn(STATUS_OF_REPORT, error.code))
    return refusal(STATUS_OF_REPORT[error.code] ?? 500, error.code, error.message);
  console.error(error);
  return refusal(500, "internal", "internal error; the server's log has the details");
}

function refusal(status: number, code: string, message: string): Response {
  const headers = status === 429 || status === 503 ? { "retry-after": status === 429 ? "60" : "1" } : {};
  return Response.json({ error: { code, message } }, { status, headers });
}
