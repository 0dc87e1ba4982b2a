/**
 * The site of the tests' pages: the built package, empty pages, and a collector of impressions whose responses the test
 * sets.
 */
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import fastify, { type FastifyInstance } from "fastify";
import type { Impression, Report } from "seenguard";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));

/** A request that the collector got. */
export interface Delivery {
  readonly contentType: string;
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  readonly namespace: string;
  readonly bytes: number;
  readonly impressions: readonly Impression[];
}

/** The collector's response. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Site {
  readonly origin: string;
  readonly #server: FastifyInstance;
  /** All deliveries, refused or not, in order. */
  readonly deliveries: Delivery[] = [];
  /** Requests for something like a CORS preflight. */
  preflights = 0;
  /** Returns the response to each delivery; may wait. */
  answer: (delivery: Delivery) => Answer | Promise<Answer> = () => ({ status: 204 });
  /** Pages of the test's own, by path. */
  readonly documents = new Map<string, string>();

  private constructor(server: FastifyInstance, origin: string) {
    this.#server = server;
    this.origin = origin;
  }

  static async start(): Promise<Site> {
    const server = fastify({ forceCloseConnections: true });
    // The tests count bytes: bodies are stored unparsed.
    server.removeAllContentTypeParsers();
    server.addContentTypeParser("*", { parseAs: "string" }, (_, body, done) => done(null, body));
    await server.register(fastifyStatic, { root: dist, prefix: "/dist/" });
    const started: { site?: Site } = {};
    server.get("/*", (request, reply) => {
      const path = new URL(request.url, "http://site").pathname;
      return reply.type("text/html").send(started.site?.documents.get(path) ?? documentOf(path));
    });
    server.options("/impressions", async (_, reply) => {
      if (started.site !== undefined) started.site.preflights++;
      await reply.code(204).send();
    });
    server.post("/impressions", async (request, reply) => {
      const { status, headers } = (await started.site?.collect(request.headers, request.body as string)) ?? {
        status: 500,
      };
      await reply
        .code(status)
        .headers({ ...headers })
        .send();
    });
    const origin = await server.listen({ host: "127.0.0.1", port: 0 });
    started.site = new Site(server, origin);
    return started.site;
  }

  private async collect(headers: Record<string, string | string[] | undefined>, body: string): Promise<Answer> {
    const { namespace, impressions } = JSON.parse(body) as Report;
    const delivery: Delivery = {
      contentType: String(headers["content-type"]),
      authorization: headers.authorization as string | undefined,
      cookie: headers.cookie as string | undefined,
      namespace,
      bytes: Buffer.byteLength(body),
      impressions,
    };
    this.deliveries.push(delivery);
    return this.answer(delivery);
  }

  /** The delivered ids, in order. */
  get delivered(): string[] {
    return this.deliveries.flatMap(({ impressions }) => impressions.map(({ id }) => id));
  }

  async close(): Promise<void> {
    await this.#server.close();
  }
}

/** A page with the package as the global `Seenguard`. */
export function documentOf(title: string, body = ""): string {
  return `<!doctype html><meta charset="utf-8"><title>${title}</title><script src="/dist/seenguard.iife.js"></script>${body}`;
}
