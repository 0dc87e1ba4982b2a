/** The API of the app: sessions, a feed that is the same for everybody, and a record of the reports. */
import fastify, { type FastifyInstance } from "fastify";
import type { Report } from "seenguard";
import { ShardChain } from "seenguard/server";

/** Stories on each page of the feed. */
const PAGE = 12;
const STORIES = 600;

export class Api {
  readonly origin: string;
  /** How often each story was reported. */
  readonly reports = new Map<string, number>();
  /** Bodies of report requests that are not reports. */
  readonly malformed: string[] = [];
  /** The headers of the guard that came with requests for the feed. */
  readonly feedHeaders: string[][] = [];
  preflights = 0;
  /** Whether it refuses reports with an error status, and ignores them. */
  refuses = false;
  /** The number of refused reports. */
  refused = 0;
  private readonly chain: ShardChain;
  private readonly server: FastifyInstance;
  /** Whether its snapshots contain what was reported. */
  private isStreamRunning = false;

  private constructor(server: FastifyInstance, origin: string, chain: ShardChain) {
    [this.server, this.origin, this.chain] = [server, origin, chain];
  }

  static async start(port: number): Promise<Api> {
    const server = fastify({ forceCloseConnections: true });
    const api = new Api(server, `http://127.0.0.1:${String(port)}`, await ShardChain.create());
    server.removeAllContentTypeParsers();
    server.addContentTypeParser("*", { parseAs: "string" }, (_, body, done) => done(null, body));
    api.serve();
    await server.listen({ host: "127.0.0.1", port });
    return api;
  }

  /** The stream catches up: from now on snapshots have what was reported. */
  runStream(): void {
    this.isStreamRunning = true;
    this.chain.record([...this.reports.keys()]);
  }

  async close(): Promise<void> {
    await this.server.close();
    this.chain.free();
  }

  private serve(): void {
    const { server } = this;
    server.addHook("onRequest", async (request, reply) => {
      const { origin } = request.headers;
      if (origin === undefined) return;
      reply.header("Access-Control-Allow-Origin", origin);
      if (request.method !== "OPTIONS") return;
      this.preflights++;
      reply.header("Access-Control-Allow-Methods", "GET, POST, DELETE");
      reply.header("Access-Control-Allow-Headers", "authorization, content-type, seen-held, seen-pending");
      reply.header("Access-Control-Max-Age", "600");
      await reply.code(204).send();
    });
    server.post("/session", (request) => {
      const { name } = JSON.parse(request.body as string) as { name: string };
      return { userId: name, token: `token of ${name}` };
    });
    server.delete("/session", () => ({}));
    server.get("/feed", ({ query, headers }) => {
      this.feedHeaders.push(Object.keys(headers).filter((name) => name.startsWith("seen-")));
      const first = Number((query as { cursor: string }).cursor);
      const numbers = Array.from({ length: PAGE }, (_, index) => first + index + 1);
      const items = numbers.map((number) => ({ id: `story-${String(number)}`, title: `Story ${String(number)}` }));
      const next = first + PAGE < STORIES ? String(first + PAGE) : null;
      return { items, next, ...(this.isStreamRunning ? { snapshot: this.chain.snapshot() } : {}) };
    });
    server.post("/seen", async (request, reply) => {
      if (this.refuses) {
        this.refused++;
        return reply.code(500).send("out of order");
      }
      this.take(request.body as string | undefined);
      return reply.code(204).send();
    });
  }

  private take(body = ""): void {
    try {
      for (const { id } of (JSON.parse(body) as Report).impressions)
        this.reports.set(id, (this.reports.get(id) ?? 0) + 1);
    } catch {
      this.malformed.push(body);
    }
  }
}
