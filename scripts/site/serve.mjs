/** Serves the built site on the loopback. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { serve } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";

/**
 * Serves a built site like a static file host.
 * @param {{ base?: string, directory: string, port?: number }} options `port`: 0 for any free one
 * @returns {Promise<{ url: string, close(): void }>}
 */
export async function serveSite({ base = "/", directory, port = 0 }) {
  const rewriteRequestPath = (/** @type {string} */ path) => path.slice(base.length - 1);
  const app = new Hono().use(`${base}*`, serveStatic({ root: directory, rewriteRequestPath }));
  app.notFound(async (context) => context.html(await readFile(`${directory}/404.html`, "utf8"), 404));
  const server = serve({ fetch: app.fetch, port, hostname: "127.0.0.1" });
  await once(server, "listening");
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${String(address.port)}${base}`, close: () => server.close() };
}
