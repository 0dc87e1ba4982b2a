/**
 * The server's routes.
 *
 *     GET POST DELETE  /api/session         who is signed in; signing in by {"name"}; signing out
 *     GET              /api/feed            a page of all stories
 *     GET              /api/topics/:topic   a page of a topic's stories, those that were seen at its end
 *     GET              /api/articles/:id    one story with its text
 *     POST             /api/seen            what a device has shown
 *     GET DELETE       /api/history         the articles that were opened; forgets all that was read or seen
 *     PUT DELETE       /api/history/:id     one of them was opened; is not to be listed any more
 */
import { fileURLToPath } from "node:url";
import express, { Router, type ErrorRequestHandler, type Express } from "express";
import type { Redis } from "ioredis";
import { parseReport } from "seenguard/server";
import { namespaceOf } from "../shared/seen.ts";
import { accountOf, accounts } from "./accounts.ts";
import { articleOf, stories, storiesOf, storyOf, topics } from "./catalogue.ts";
import { enqueue } from "./queue.ts";
import { readingHistory } from "./reading-history.ts";
import { seenStories } from "./seen.ts";

const page = fileURLToPath(new URL("../dist", import.meta.url));

export function newsApp(redis: Redis): Express {
  const app = express();
  const { required } = accounts(redis);
  app.use("/api", (_request, response, next) => {
    response.set("Cache-Control", "private, no-store");
    next();
  });
  app.use("/api/session", sessionRoutes(redis));
  app.use("/api/seen", required, reportRoutes(redis));
  app.use("/api/history", required, historyRoutes(redis));
  app.use("/api", required, storyRoutes(redis));
  app.use(express.static(page));
  app.get("/{*path}", (_request, response) => response.sendFile("index.html", { root: page }));
  app.use(failed);
  return app;
}

function sessionRoutes(redis: Redis): Router {
  const { current, signIn, signOut } = accounts(redis);
  return Router()
    .get("/", async (request, response) => void response.json(await current(request)))
    .post("/", express.json(), async (request, response) => void response.json(await signIn(request, response)))
    .delete("/", async (request, response) => {
      await signOut(request, response);
      response.sendStatus(204);
    });
}

function storyRoutes(redis: Redis): Router {
  const seen = seenStories(redis);
  return Router()
    .get("/feed", async (request, response) => {
      response.json(await seen.pageFor(accountOf(response), request, stories, "drop"));
    })
    .get("/topics", (_request, response) => void response.json(topics))
    .get("/topics/:topic", async (request, response) => {
      response.json(await seen.pageFor(accountOf(response), request, storiesOf(request.params.topic), "last"));
    })
    .get("/articles/:id", (request, response) => {
      const article = articleOf(request.params.id);
      if (article) response.json(article);
      else response.sendStatus(404);
    });
}

function reportRoutes(redis: Redis): Router {
  // Browsers send a page's last report as text/plain.
  return Router().post("/", express.text({ type: () => true, limit: "1mb" }), async (request, response) => {
    const report = parseReport(request.body);
    const account = accountOf(response);
    if (report.namespace !== namespaceOf(account)) {
      response.sendStatus(409);
    } else {
      await enqueue(redis, account, report);
      response.sendStatus(202);
    }
  });
}

function historyRoutes(redis: Redis): Router {
  const history = readingHistory(redis);
  const seen = seenStories(redis);
  return Router()
    .get("/", async (_request, response) => {
      const ids = await history.list(accountOf(response));
      response.json(ids.map(storyOf).filter(Boolean));
    })
    .delete("/", async (_request, response) => {
      await history.clear(accountOf(response));
      await seen.forget(accountOf(response));
      response.sendStatus(204);
    })
    .put("/:id", async (request, response) => {
      await history.add(accountOf(response), request.params.id);
      response.sendStatus(204);
    })
    .delete("/:id", async (request, response) => {
      await history.remove(accountOf(response), request.params.id);
      response.sendStatus(204);
    });
}

const failed: ErrorRequestHandler = (error: Error & { status?: number; code?: string }, _request, response, _next) => {
  const status = error.code === "bad-report" ? 400 : (error.status ?? 500);
  if (status >= 500) console.error(error);
  response.status(status).json({ error: error.message });
};
