/** The demo's server in a page's worker: the handler over memory. Each message has a port to serve. */
import { Hono } from "hono";
import { mount } from "hono/mount";
import { ShardChain } from "seenguard/server";
import type { Item } from "../server/catalogue.ts";
import { handlerOf } from "../server/handler.ts";
import { MemoryBackEnd } from "../server/memory.ts";
import { serveOver, type Handler } from "./port.ts";

/** A page's message with its port. */
export interface Joining {
  /** The page's directory: its `api/` is served, and it has `catalogue.json`, since grouping takes seconds. */
  readonly directory: string;
}

/** The timeout of a host that does not respond: then requests fail, and the next one tries again. */
const CATALOGUE_TIMEOUT_MS = 30_000;

let opening: Promise<Handler> | undefined;

addEventListener("message", ({ data, ports: [port] }: MessageEvent<Joining>) => {
  if (port !== undefined) serveOver(port, async (request) => (await opened(data.directory))(request));
});

/** The handler. If the catalogue could not be loaded, the next request tries again. */
function opened(directory: string): Promise<Handler> {
  return (opening ??= open(directory).catch((error: unknown) => {
    opening = undefined;
    throw error;
  }));
}

async function open(directory: string): Promise<Handler> {
  void ShardChain.create().then((chain) => chain.free()); // the engine is compiled meanwhile
  const response = await fetch(new URL("catalogue.json", directory), {
    signal: AbortSignal.timeout(CATALOGUE_TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`the catalogue cannot be fetched: ${String(response.status)}`);
  const handler = handlerOf(new MemoryBackEnd(), (await response.json()) as Item[]);
  const server = new Hono().all(`${new URL(directory).pathname}*`, mount(handler));
  return async (request) => server.fetch(request);
}
