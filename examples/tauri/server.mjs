/** The feed's server: it serves unseen stories and records reports. `npm run server` starts it. */
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { memoryStore, seenOf } from "seenguard/server";

const stories = Array.from({ length: 200 }, (_, index) => ({ id: `story-${index}`, title: `Story ${index}` }));

/**
 * @param {object} [options]
 * @param {() => boolean} [options.isStreaming] Whether reports reach the store.
 * @param {(request: { path: string, method: string, headers: object, body: string }) => void} [options.onRequest]
 */
export function startServer({ isStreaming = () => true, onRequest } = {}) {
  const store = memoryStore({ namespaceOf: (user) => `home:${user}` });
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const path = request.url ?? "";
    onRequest?.({ path, method: request.method, headers: request.headers, body });
    if (request.method === "POST" && path === "/api/feed/seen") {
      const report = await store.accept("ada", JSON.parse(body));
      if (isStreaming()) await store.ingest("ada", report);
      response.writeHead(204).end();
    } else if (path === "/api/feed") {
      const page = await store.page("ada", stories, { size: 10, ...seenOf(request) });
      response.setHeader("Content-Type", "application/json").end(JSON.stringify(page));
    } else response.writeHead(404).end();
  });
  return new Promise((resolve) => server.listen(8787, "localhost", () => resolve(server)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await startServer();
  console.log("http://localhost:8787");
}
