/**
 * The server's routes.
 *
 *     GET POST DELETE  /api/session         who is signed in; signing in by {"name"}; signing out
 *     GET              /api/feed            a page of all stories
 *     GET              /api/topics/:topic   a page of a topic's stories, those that were seen at its end
 *     GET              /api/articles/:id    one story with its text
 *     POST             /api/seen            what a device has shown
 *     GET DELETE       /api/history         the articles that were opened; deletes both histories
 *     PUT DELETE       /api/history/:id     adds an article; removes it
 */
import { fileURLToPath } from "node:url";
import express, { Router, type ErrorRequestHandler, type RequestHandler } from "express";
import { seenOf } from "seenguard/server";
import type { Story } from "../shared/story.ts";
import { accountOf, currentAccount, signedIn, signIn, signOut } from "./accounts.ts";
import { articleOf, stories, storiesOf, storyOf } from "./catalogue.ts";
import { enqueue } from "./queue.ts";
import { readingHistory } from "./reading-history.ts";
import { seen } from "./redis.ts";

const PAGE_SIZE = 12;

const session = Router()
  .get("/", async (request, response) => void response.json(await currentAccount(request)))
  .post("/", express.json(), async ({ body }, response) => {
    response.json(await signIn((body as { name: string }).name, response));
  })
  .delete("/", async (request, response) => {
    await signOut(request, response);
    response.sendStatus(204);
  });

/** A story's id on the server. A repost has the id of the story that was shared. */
const storyIdOf = ({ id, repost }: Story) => repost?.of ?? id;

/** Responds with a page of stories. `old`: whether those that this reader has seen are left out or come last. */
function page(ranked: (topic: string) => readonly Story[], old: "drop" | "last"): RequestHandler {
  return async (request, response) => {
    const options = { id: storyIdOf, size: PAGE_SIZE, cursor: String(request.query.cursor ?? ""), repeats: old };
    const candidates = ranked(String(request.params.topic));
    response.json(await seen.page(accountOf(response), candidates, { ...options, ...seenOf(request) }));
  };
}

const articles = Router().get("/:id", ({ params }, response) => {
  const article = articleOf(params.id);
  if (article) response.json(article);
  else response.sendStatus(404);
});

/** The devices' reports. The body stays a string, which `accept` parses. */
const reports = Router().post("/", express.text({ type: "*/*", limit: "1mb" }), async ({ body }, response) => {
  await enqueue(accountOf(response), await seen.accept(accountOf(response), body));
  response.sendStatus(202);
});

const history = Router()
  .get("/", async (_request, response) => {
    const ids = await readingHistory.list(accountOf(response));
    response.json(ids.map(storyOf).filter(Boolean));
  })
  .delete("/", async (_request, response) => {
    await readingHistory.clear(accountOf(response));
    await seen.forget(accountOf(response));
    response.sendStatus(204);
  })
  .put("/:id", async ({ params }, response) => {
    await readingHistory.add(accountOf(response), params.id);
    response.sendStatus(204);
  })
  .delete("/:id", async ({ params }, response) => {
    await readingHistory.remove(accountOf(response), params.id);
    response.sendStatus(204);
  });

/** The statuses of reports that `accept` refuses. At 409 a device keeps the report for its own account. */
const STATUS_OF: Record<string, number> = {
  ...{ "bad-report": 400, "wrong-namespace": 409, "too-large": 413 },
  storage: 503,
};

const failed: ErrorRequestHandler = (error: Error & { status?: number; code?: string }, _request, response, _next) => {
  const status = STATUS_OF[error.code ?? ""] ?? error.status ?? 500;
  if (status >= 500) console.error(error);
  response.status(status).json({ error: error.message });
};

/** Forbids caching: each response is for one account. */
const notCached: RequestHandler = (_request, response, next) => {
  response.set("Cache-Control", "private, no-store");
  next();
};

/** The built page. */
const client = fileURLToPath(new URL("../dist", import.meta.url));

export const app = express()
  .disable("x-powered-by")
  .use("/api", notCached)
  .use("/api/session", session)
  .use("/api", signedIn)
  .use("/api/seen", reports)
  .use("/api/history", history)
  .get(
    "/api/feed",
    page(() => stories, "drop"),
  )
  .get("/api/topics/:topic", page(storiesOf, "last"))
  .use("/api/articles", articles)
  .use(express.static(client))
  .get("/{*path}", (_request, response) => response.sendFile("index.html", { root: client }))
  .use(failed);
