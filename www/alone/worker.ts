/** The demo's server in a page's worker: the handler over memory. Each message has a port to serve. */
import { Hono } from "hono";
import { mount } from "hono/mount";
import { ShardChain } from "seenguard/server";
import catalogue from "virtual:catalogue";
import { handlerOf } from "../server/handler.ts";
import { MemoryBackEnd } from "../server/memory.ts";
import { serveOver } from "./port.ts";

/** A page's message with its port. */
export interface Joining {
  /** The page's directory: its `api/` is served. */
  readonly directory: string;
}

const handler = handlerOf(new MemoryBackEnd(), catalogue);
void ShardChain.create().then((chain) => chain.free()); // compiles the engine before the first request

addEventListener("message", ({ data, ports: [port] }: MessageEvent<Joining>) => {
  const server = new Hono().all(`${new URL(data.directory).pathname}*`, mount(handler));
  if (port !== undefined) serveOver(port, async (request) => server.fetch(request));
});
